// The figures of one measured problem, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "machine_peak.hpp"
#include "measure.hpp"
#include "problem.hpp"

namespace cmm::cli {

struct RunReport {
  Problem problem;
  std::string transport;
  int num_hosts = 1;
  Measurement measured;
  MachinePeak peak;
  std::uint64_t output_hash = 0;
  std::optional<Comparison> check;  // set under --check

  double gflops() const;  // 1e9 per second, of the fused operation
  double weight_bytes_per_second() const;
  double share_of_peak() const;
  double share_of_read_bandwidth() const;
  double speedup_over_sequential() const;
  double ratio_to_bound() const;

  nlohmann::ordered_json json() const;
  std::string str() const;  // a table
};

// "4 ranks on 2 hosts, 1 thread each; transport MPI"
struct RanksShown {
  const Problem& problem;
  std::string_view transport;
  int num_hosts = 1;
};
std::string ranks_text(const RanksShown& shown);

inline constexpr std::int64_t kDecodeRows = 8;  // up to here the weights' bytes are the limit

nlohmann::ordered_json spread_json(const Spread& spread);

}  // namespace cmm::cli
