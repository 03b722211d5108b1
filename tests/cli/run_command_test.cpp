// cmm run, plan, check and bench as a user sees them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "arguments.hpp"
#include "cmm/machine.hpp"
#include "measure.hpp"
#include "memory.hpp"
#include "problem.hpp"
#include "run_tool.hpp"
#include "table.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::json;

Json json_of(const std::string& line) {
  const ToolResult result = run_tool(words_of(line));
  EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
  EXPECT_EQ(result.err, "") << line;
  return Json::parse(result.out);
}

const std::string kSmall = "run --k 101 --n 127 --repeats 2 --check --json ";

TEST(Run, PrintsTheFiguresAsJson) {
  const Json j = json_of(kSmall + "--ranks 3 --m 17 --dtype f32 --seed 5");
  EXPECT_EQ(j["correct"], true);
  EXPECT_EQ(j["mismatches"], 0);
  EXPECT_EQ(j["compared_elements"], 17 * 127);
  EXPECT_EQ(j["output_hash"].get<std::string>().size(), 16u);
  EXPECT_EQ(j["ranks"], 3);
  EXPECT_EQ(j["m"], 17);
  EXPECT_EQ(j["dtype"], "f32");
  EXPECT_EQ(j["repeats"], 2);
  for (const char* key : {"median_seconds", "bound_seconds", "gemm_seconds", "allgather_seconds",
                          "sequential_seconds", "ratio_to_bound", "speedup_over_sequential",
                          "gflops", "share_of_peak", "peak_gflops"}) {
    EXPECT_GT(j.at(key).get<double>(), 0.0) << key;
  }
  EXPECT_TRUE(j.at("hidden_share").is_number());
  EXPECT_TRUE(j.at("isa").is_string());
  EXPECT_TRUE(j.at("algorithm").is_string());
  for (const char* part : {"fused", "gemm", "allgather", "allgather_then_gemm"}) {
    const Json& spread = j.at("spread").at(part);
    EXPECT_LE(spread.at("min"), spread.at("median")) << part;
    EXPECT_LE(spread.at("median"), spread.at("max")) << part;
  }
}

// The figures are what they say of each other.
TEST(Run, DerivesItsFiguresFromTheMedians) {
  const Json j = json_of(kSmall + "--ranks 2 --m 64 --algorithm ring");
  const double fused = j["median_seconds"], gemm = j["gemm_seconds"],
               gather = j["allgather_seconds"];
  EXPECT_DOUBLE_EQ(j["ratio_to_bound"], fused / j["bound_seconds"].get<double>());
  EXPECT_DOUBLE_EQ(j["hidden_share"], (gemm + gather - fused) / std::min(gemm, gather));
  EXPECT_DOUBLE_EQ(j["speedup_over_sequential"], j["sequential_seconds"].get<double>() / fused);
  EXPECT_DOUBLE_EQ(j["gflops"], 2.0 * 64 * 101 * 127 / fused / 1e9);
  EXPECT_DOUBLE_EQ(j["share_of_peak"], j["gflops"].get<double>() / j["peak_gflops"].get<double>());
  const Json& terms = j["bound_terms"];
  EXPECT_EQ(terms["in_place"], false);
  EXPECT_DOUBLE_EQ(j["bound_seconds"], std::max(gemm, gather) +
                                           terms["first_chunk_seconds"].get<double>() +
                                           terms["last_chunk_seconds"].get<double>());
}

TEST(Run, GivesOneHashForEveryWayToRun) {
  const std::string own = kSmall + "--engine own ";  // a library promises no bits
  const std::string hash = json_of(own + "--ranks 1 --m 16")["output_hash"];
  for (const char* how : {"--ranks 5 --m 16 --algorithm bidirectional --pieces 3",
                          "--rows 3,0,13 --algorithm recursive_doubling --transpose-y",
                          "--ranks 4 --m 16 --algorithm hierarchical --hosts 2 --threads 2"}) {
    const Json j = json_of(own + how);
    EXPECT_EQ(j["output_hash"], hash) << how;
    EXPECT_EQ(j["correct"], true) << how;
  }
  EXPECT_NE(json_of(own + "--ranks 1 --m 16 --seed 2")["output_hash"], hash);
}

TEST(Run, TakesEmptyExtents) {
  for (const char* extents : {"--m 0 --k 5 --n 7", "--m 5 --k 0 --n 7", "--m 5 --k 7 --n 0",
                              "--m 5 --k 7 --n 1", "--rows 0,0,4 --k 3 --n 2"}) {
    const ToolResult result =
        run_tool(words_of(std::string("run --check --repeats 1 --ranks 3 ") + extents));
    EXPECT_EQ(result.exit_code, 0) << extents << result.err;
    EXPECT_NE(result.out.find("right: all"), std::string::npos) << extents;
  }
}

TEST(Run, PrintsATableForPeople) {
  const ToolResult result = run_tool(words_of("run --m 4 --k 64 --n 96 --repeats 2 --check"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"x [4, 64] * y [64, 96], bf16", "all_gather_matmul", "bound",
                           "hidden share", "GB/s", "right: all 384 elements compared"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
}

TEST(Run, ShowsAHiddenShareOnlyWhereRowsAreTransferred) {
  for (const char* in_place : {"--ranks 1", "--ranks 2 --algorithm direct"}) {
    const ToolResult result =
        run_tool(words_of(std::string("run --m 16 --k 64 --n 96 --repeats 1 ") + in_place));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("nothing is transferred: rows are read in place"), std::string::npos)
        << in_place << result.out;
  }
  const ToolResult ring =
      run_tool(words_of("run --m 16 --k 64 --n 96 --repeats 1 --ranks 2 --algorithm ring"));
  EXPECT_NE(ring.out.find("of the shorter of product, gather"), std::string::npos) << ring.out;
}

TEST(Run, SaysWhenItHasNotChecked) {
  const Json j = json_of("run --m 4 --k 64 --n 96 --repeats 1 --json");
  EXPECT_TRUE(j.at("correct").is_null());
  EXPECT_TRUE(j.at("mismatches").is_null());
}

TEST(RunTrace, HasANamedTrackForEveryThreadOfEveryRank) {
  const Scratch scratch;
  const std::string path = scratch.file("trace.json");
  const ToolResult result = run_tool(words_of(
      "run --ranks 2 --threads 2 --m 512 --k 512 --n 2048 --algorithm ring --repeats 1 --trace " +
      path));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json trace = Json::parse(content_of(path));
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<std::pair<int, int>, std::set<std::string>> kinds;
  for (const Json& event : trace.at("traceEvents")) {
    const std::pair<int, int> track = {event.at("pid"), event.at("tid")};
    if (event.at("ph") == "M") {
      const std::string name = event.at("args").at("name");
      if (event.at("name") == "process_name") processes[track.first] = name;
      if (event.at("name") == "thread_name") threads[track] = name;
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("ts").get<double>(), 0.0);
    EXPECT_GE(event.at("dur").get<double>(), 0.0);
    kinds[track].insert(event.at("cat"));
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  for (int rank : {0, 1}) {
    EXPECT_EQ((threads[{rank, 0}]), "caller");
    EXPECT_TRUE((kinds[{rank, 0}].count("call")));
    EXPECT_TRUE((kinds[{rank, 0}].count("wait")));
    std::set<std::string> all = kinds[{rank, 0}];
    all.insert(kinds[{rank, 1}].begin(), kinds[{rank, 1}].end());
    EXPECT_TRUE(all.count("multiply")) << rank;
    EXPECT_TRUE(all.count("transfer")) << rank;
    EXPECT_TRUE(all.count("pack")) << rank;
  }
  for (const auto& [track, unused] : kinds) EXPECT_TRUE(threads.count(track));
}

TEST(RunTrace, IsRefusedBeforeTheWorkWhereItCannotBeWritten) {
  expect_refused(run_tool(words_of("run --m 1 --trace /nowhere/trace.json")), 3,
                 "/nowhere/trace.json: cannot create a file in its folder");
  expect_refused(run_tool({"run", "--m", "1", "--trace", ""}), 2, "--trace is ''; give");
}

TEST(RunTrace, LeavesNoFileWhenTheRunFails) {
  const Scratch scratch;
  const ToolResult result = run_tool(words_of(
      "run --m 2048 --k 4096 --n 4096 --deadline-ms 1 --trace " + scratch.file("trace.json")));
  expect_refused(result, 3, "rank");
  EXPECT_EQ(scratch.names().size(), 0u);
}

TEST(Plan, SaysWhatHostsThatAreNotThereWouldChoose) {
  const std::string line = "plan --ranks 5 --on-hosts 2 --m 500 --k 64 --n 96 --dtype f32 ";
  const Json j = json_of(line + "--link-gbit 8 --link-us 100 --json");
  EXPECT_EQ(j["algorithm"], "hierarchical");
  EXPECT_EQ(j["hosts"], 2);
  EXPECT_EQ(j["num_ranks"], 5);
  // Of five shards of 100 rows three are on the host that takes fewer.
  EXPECT_EQ(j["link_bytes"], 3 * 100 * 64 * 4);
  EXPECT_DOUBLE_EQ(j["link_seconds"], 1e-4 + 3 * 100 * 64 * 4 / 1e9);
  EXPECT_NE(j["reason"].get<std::string>().find("1 GB/s and 100 us"), std::string::npos);
  EXPECT_EQ(json_of(line + "--algorithm ring --json")["algorithm"], "ring");
  EXPECT_EQ(json_of("plan --ranks 4 --on-hosts 1 --json")["algorithm"], "direct");

  const ToolResult text = run_tool(words_of(line));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("5 ranks on 2 hosts, which are not there"), std::string::npos)
      << text.out;
}

TEST(Plan, SaysAlgorithmReasonBytesAndPicture) {
  const Json j = json_of("plan --ranks 4 --m 100 --k 64 --n 96 --algorithm ring --pieces 2 --json");
  EXPECT_EQ(j["algorithm"], "ring");
  EXPECT_EQ(j["pieces"], 2);
  EXPECT_NE(j["picture"].get<std::string>().find("rank 3"), std::string::npos);
  ASSERT_EQ(j["ranks"].size(), 4u);
  EXPECT_EQ(j["ranks"][0]["rows"], 25);
  EXPECT_EQ(j["ranks"][0]["columns"], 24);
  EXPECT_EQ(j["ranks"][0]["received_bytes"], 75 * 64 * 2);
  EXPECT_GT(j["ranks"][0]["workspace_bytes"].get<std::int64_t>(), 0);
  EXPECT_GT(j["ranks"][0]["expected_seconds"].get<double>(), 0.0);

  const ToolResult text = run_tool(words_of("plan --ranks 20 --m 100 --k 64 --n 96"));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.find("step"), std::string::npos);  // no picture for so many ranks
  EXPECT_NE(text.out.find("and 4 more, listed by --json"), std::string::npos);
  EXPECT_NE(text.out.find("because"), std::string::npos);
}

TEST(Check, GivesOneVerdict) {
  const ToolResult result = run_tool({"check"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("\nRIGHT: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("portable"), std::string::npos);
}

TEST(Bench, MeasuresARowForEachShape) {
  const Json j = json_of("bench --quick --dtype bf16 --ranks 2 --repeats 1 --json");
  ASSERT_EQ(j["rows"].size(), 3u);
  EXPECT_EQ(j["rows"][0]["m"], 1);
  EXPECT_EQ(j["rows"][2]["m"], 512);
  EXPECT_GT(j["rows"][0]["weight_copies"].get<int>(), 1);
  EXPECT_EQ(j["rows"][2]["weight_copies"], 1);
  EXPECT_GT(j["rows"][2]["ratio_to_bound"].get<double>(), 0.0);
}

// The yardsticks are measured while all data is held.
TEST(Run, WeighsTheMemoryOfItsYardsticksToo) {
  Problem p;
  p.m = 1;
  p.k = 100'000;
  p.n = 400'000;  // 160 GB: the yardsticks' share is in the digits shown
  const std::int64_t of_data = saturating_sum(problem_bytes(p), measure_bytes(p, {.repeats = 1}));
  if (available_memory_bytes() > of_data) GTEST_SKIP() << "this machine has memory for it";
  ASSERT_NE(bytes_text(of_data + kMeasureMachineBytes), bytes_text(of_data));
  expect_refused(run_tool(words_of("run --m 1 --k 100000 --n 400000 --repeats 1")), 2,
                 "needs " + bytes_text(of_data + kMeasureMachineBytes) + " of memory");
}

}  // namespace
}  // namespace cmm::cli
