#include "rank_report.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "report.hpp"

namespace cmm::bench {
namespace {

constexpr std::string_view kGathers = "all_gather";

bool is_gather(std::string_view name) {
  return name.substr(0, kGathers.size()) == kGathers &&
         name.find("product") == std::string_view::npos;
}

// By round: the gather whose median is least.
const std::vector<double>& fastest_gather(const Seconds& seconds) {
  const std::vector<double>* fastest = nullptr;
  for (const auto& [name, of_rounds] : seconds) {
    if (!is_gather(name)) continue;
    if (fastest == nullptr || median(of_rounds) < median(*fastest)) fastest = &of_rounds;
  }
  return *fastest;
}

// The bound of a round: max(product, transfer) + first chunk + last chunk. Rows that are read in
// place are not transferred: then it is the product and the barrier after which all of x may be
// read. Else transfer is the gather; the first chunk is its share of one chunk of a peer, the last
// chunk the product's share of one chunk.
std::vector<double> bounds(const Outcome& outcome) {
  const int num_ranks = outcome.problem.num_ranks;
  const bool in_place = outcome.plan.copied_bytes == 0;
  const double chunks = std::max(1, outcome.plan.num_chunks);
  const double remote_chunks = std::max(1.0, chunks * (num_ranks - 1) / num_ranks);
  const std::vector<double>& products = outcome.seconds.at("product");
  const std::vector<double>& gathers = fastest_gather(outcome.seconds);
  std::vector<double> all;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (num_ranks == 1) {
      all.push_back(products[i]);
    } else if (in_place) {
      all.push_back(products[i] + outcome.seconds.at("barrier")[i]);
    } else {
      all.push_back(std::max(products[i], gathers[i]) + gathers[i] / remote_chunks +
                    products[i] / chunks);
    }
  }
  return all;
}

}  // namespace

nlohmann::json figures(const Outcome& outcome) {
  const Case& c = outcome.problem;
  const Machine& machine = outcome.machine;
  const std::vector<double>& fused = outcome.seconds.at("fused");
  const std::vector<double> bound = bounds(outcome);
  const double total = median(fused);
  const double product = median(outcome.seconds.at("product"));
  const double gather = median(fastest_gather(outcome.seconds));
  const double flops =
      2.0 * static_cast<double>(c.m) * static_cast<double>(c.k) * static_cast<double>(c.n);
  const auto bytes = static_cast<double>(c.k * c.n * c.elem_bytes());
  const int cores = std::min(c.num_ranks * c.threads_per_rank, machine.num_cores);
  nlohmann::json row = {
      {"dtype", dtype_name(c.dtype)},
      {"num_ranks", c.num_ranks},
      {"num_hosts", outcome.num_hosts},
      {"threads_per_rank", c.threads_per_rank},
      {"more_ranks_than_cores", c.num_ranks * c.threads_per_rank > machine.num_cores},
      {"m", c.m},
      {"k", c.k},
      {"n", c.n},
      {"cold_weights", c.cold()},
      {"algorithm", algorithm_name(outcome.plan.algorithm)},
      {"isa", isa_name(outcome.plan.isa)},
      {"bound_seconds", median(bound)},
      {"gather_seconds", gather},
      {"ratio_to_bound", median_ratio(fused, bound)},
      {"share_of_l1_fed", flops / total / (machine.l1_flops * cores)},
      {"share_of_read",
       bytes / total /
           (cores == 1 ? machine.core_read_bytes_per_second : machine.read_bytes_per_second)}};
  // One rank neither gathers nor waits.
  if (c.num_ranks > 1) row["hidden_share"] = (product + gather - total) / std::min(product, gather);
  for (const auto& [name, of_rounds] : outcome.seconds) {
    row["seconds"][name] = to_json(spread(of_rounds));
    row["over_fused"][name] = median_ratio(of_rounds, fused);
  }
  return row;
}

void print_head(const Case& c, const Machine& machine) {
  std::printf(
      "\n%s, P = %d, %d thread%s a rank, k = %lld; L1-fed loop %.0f GFLOP/s a core, reading "
      "%.1f GB/s\n",
      dtype_name(c.dtype).data(), c.num_ranks, c.threads_per_rank,
      c.threads_per_rank == 1 ? "" : "s", static_cast<long long>(c.k), 1e-9 * machine.l1_flops,
      1e-9 * machine.read_bytes_per_second);
  std::printf("%6s %6s %10s %19s %10s %8s %7s %8s %8s  %s\n", "n", "m", "fused ms", "quartiles",
              "bound ms", "T/bound", "hidden", "of peak", "of read",
              "other versions: ms (over fused)");
}

void print_figures(const nlohmann::json& row) {
  const auto value = [&](const char* key) { return row.at(key).get<double>(); };
  const nlohmann::json& fused = row.at("seconds").at("fused");
  std::printf("%6lld %6lld %10.3f %9.3f-%-9.3f %10.3f %8.3f", row.at("n").get<long long>(),
              row.at("m").get<long long>(), 1e3 * fused.at("median").get<double>(),
              1e3 * fused.at("low_quartile").get<double>(),
              1e3 * fused.at("high_quartile").get<double>(), 1e3 * value("bound_seconds"),
              value("ratio_to_bound"));
  if (row.contains("hidden_share")) {
    std::printf(" %7.2f", value("hidden_share"));
  } else {
    std::printf(" %7s", "-");
  }
  std::printf(" %7.0f%% %7.0f%% ", 100 * value("share_of_l1_fed"), 100 * value("share_of_read"));
  for (const auto& [name, spread] : row.at("seconds").items()) {
    if (name == "fused") continue;
    std::printf(" %s %.3f (%.2f)", name.c_str(), 1e3 * spread.at("median").get<double>(),
                row.at("over_fused").at(name).get<double>());
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace cmm::bench
