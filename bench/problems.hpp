// The problems on which the fused operation is measured, alike in every program that measures it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cmm/dtype.hpp"
#include "cmm/plan.hpp"

namespace cmm::bench {

// One product of [m, k] and [k, n] on P ranks.
struct Case {
  DType dtype = DType::kF32;
  int num_ranks = 1;
  int threads_per_rank = 1;
  std::int64_t m = 1, k = 1, n = 1;
  int num_copies = 1;  // of y, used in turn
  Algorithm algorithm = Algorithm::kAuto;

  std::int64_t n_local(int rank) const;
  std::int64_t first_row(int rank) const;
  std::int64_t num_rows(int rank) const;
  std::int64_t elem_bytes() const { return static_cast<std::int64_t>(dtype_bytes(dtype)); }
  bool cold() const { return num_copies > 1; }
};

struct Problems {
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::vector<std::int64_t> m = {1, 4, 16, 64, 256, 1024, 4096};
  std::int64_t k = 4096;
  std::vector<std::int64_t> n = {14336};  // of all ranks together
  int cores = 0;  // threads of all ranks together, one a rank at least; 0: the machine's
  std::int64_t cold_mib = 300;  // of all ranks together
  int rounds = 9;
  std::string algorithm = "auto";
  bool quick = false;
  std::string json;

  // The flags of these. After parsing, settle() puts in what --quick stands for and what is unset.
  void add_flags(CLI::App& app);
  void settle(const CLI::App& app);

  // By type, then by columns, then by rows.
  std::vector<Case> cases(int num_ranks) const;
};

}  // namespace cmm::bench
