#include "problems.hpp"

#include <algorithm>
#include <thread>

#include "base/integers.hpp"

namespace cmm::bench {
namespace {

// Up to so many rows a product reads each weight about once and is bound by that, so its weights
// must not lie in a cache.
constexpr std::int64_t kColdRows = 64;

}  // namespace

std::int64_t Case::n_local(int rank) const { return even_part(n, num_ranks, rank).size(); }
std::int64_t Case::first_row(int rank) const { return even_part(m, num_ranks, rank).begin; }
std::int64_t Case::num_rows(int rank) const { return even_part(m, num_ranks, rank).size(); }

void Problems::add_flags(CLI::App& app) {
  app.add_option("--m", m, "rows of x")->check(CLI::PositiveNumber);
  app.add_option("--k", k, "inner extent")->check(CLI::PositiveNumber);
  app.add_option("--n", n, "columns of y, all ranks")->check(CLI::PositiveNumber);
  app.add_option("--cores", cores, "threads of all ranks together, one a rank at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--dtype", dtypes, "f32, bf16, f16");
  app.add_option("--algorithm", algorithm, "auto, direct, ring, ...");
  app.add_option("--cold-mib", cold_mib, "memory of the copies of y")->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds, "samples per figure")->check(CLI::PositiveNumber);
  app.add_flag("--quick", quick, "smaller y, fewer rows and rounds: a minute or two");
  app.add_option("--json", json, "file for the figures");
}

void Problems::settle(const CLI::App& app) {
  if (quick) {
    if (app.count("--m") == 0) m = {1, 16, 256, 1024};
    if (app.count("--n") == 0) n = {8192};
    if (app.count("--rounds") == 0) rounds = 7;
  }
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
}

std::vector<Case> Problems::cases(int num_ranks) const {
  std::vector<Case> all;
  for (const std::string& name : dtypes) {
    Case c;
    c.dtype = parse_dtype(name);
    c.num_ranks = num_ranks;
    c.threads_per_rank = std::max(1, cores / num_ranks);
    c.k = k;
    c.algorithm = parse_algorithm(algorithm);
    for (const std::int64_t columns : n) {
      c.n = columns;
      const std::int64_t weight_bytes = k * columns * c.elem_bytes();
      for (const std::int64_t rows : m) {
        c.m = rows;
        c.num_copies =
            rows <= kColdRows ? static_cast<int>(ceil_div(cold_mib << 20, weight_bytes) + 1) : 1;
        all.push_back(c);
      }
    }
  }
  return all;
}

}  // namespace cmm::bench
