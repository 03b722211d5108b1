// Does the fused operation hide its gather? all_gather_matmul on P ranks, threads of this process,
// against the bound and against the sequential versions of the same work on the same threads.
#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "cmm/cmm.hpp"
#include "cmm/machine.hpp"
#include "meetings.hpp"
#include "problems.hpp"
#include "rank_report.hpp"
#include "rank_work.hpp"
#include "report.hpp"
#include "turns.hpp"

namespace cmm::bench {
namespace {

struct Result {
  Seconds seconds;
  Explanation plan;
};

Result measure_rank(const Case& c, const ConstMatrixRef& x, int rounds, Mesh& mesh,
                    Meeting& meeting) {
  const std::vector<Weights> y = pack_copies(c, mesh.rank());
  RankWork work({c, mesh.axis("tp"), x, rows_of(x, c, mesh.rank()), y});
  // The last rank enters each call half a product late.
  double late_seconds = 0;
  const auto be_late = [&] {
    if (mesh.rank() != c.num_ranks - 1) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(late_seconds));
  };
  // The best there is on one host without fusing: the product of the peers' rows in place.
  const auto barrier_then_product = [&] {
    meeting.meet();
    work.multiply();
    meeting.meet();
  };
  const std::vector<Version> versions = {{"fused", [&] { work.fused(); }},
                                         {"product", [&] { work.multiply(); }},
                                         {"all_gather", [&] { work.gather(); }},
                                         {"barrier", [&] { meeting.meet(); }},
                                         {"all_gather_then_product",
                                          [&] {
                                            work.gather_direct();
                                            work.multiply_gathered();
                                          }},
                                         {"barrier_then_product", barrier_then_product},
                                         {"late_fused",
                                          [&] {
                                            be_late();
                                            work.fused();
                                          }},
                                         {"late_barrier_then_product", [&] {
                                            be_late();
                                            barrier_then_product();
                                          }}};
  // The first round touches outputs, threads and caches.
  const Seconds once = take_turns(meeting, versions, {.rounds = 2});
  late_seconds = 0.5 * once.at("product")[1];
  const int calls = calls_per_sample(once.at("fused")[1]);
  return {take_turns(meeting, versions, {.rounds = rounds, .calls = calls}), work.explain()};
}

Result measure(const Case& c, int rounds) {
  AlignedBuffer memory(c.m * c.k * c.elem_bytes());  // the whole x, which all ranks may read
  fill_random(memory, c.dtype);
  const ConstMatrixRef x(memory.data(), c.dtype, c.m, c.k, c.k);
  ThreadMeeting::Shared shared(c.num_ranks);
  Result result;
  run_ranks({{"tp", c.num_ranks}}, [&](Mesh& mesh) {
    ThreadMeeting meeting(shared, mesh.rank());
    try {
      const Result of_rank = measure_rank(c, x, rounds, mesh, meeting);
      if (mesh.rank() == 0) result = of_rank;
    } catch (...) {
      shared.barrier.arrive_and_drop();
      throw;
    }
  });
  return result;
}

int run(int argc, char** argv) {
  Problems problems;
  std::vector<int> ranks = {1, 2, 4, 8};
  CLI::App app("Measures the fused operation against its bound and the sequential versions");
  problems.add_flags(app);
  app.add_option("--ranks", ranks, "numbers of ranks")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  problems.settle(app);
  nlohmann::json rows = nlohmann::json::array();
  for (const int num_ranks : ranks) {
    Machine machine;
    std::optional<DType> dtype;  // of that figure
    for (const Case& c : problems.cases(num_ranks)) {
      if (dtype != c.dtype) {
        machine = measure_machine(default_isa(), c.dtype);
        print_head(c, machine);
      }
      dtype = c.dtype;
      const Result result = measure(c, problems.rounds);
      rows.push_back(figures({c, result.seconds, result.plan, machine}));
      nlohmann::json& row = rows.back();
      row["late_barrier_then_product_over_late_fused"] = median_ratio(
          result.seconds.at("late_barrier_then_product"), result.seconds.at("late_fused"));
      print_figures(row);
    }
  }
  write_json(problems.json, {{"fused", rows}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  return cmm::bench::run_program("bench_fused", cmm::bench::run, argc, argv);
}
