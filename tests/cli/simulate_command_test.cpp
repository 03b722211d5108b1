// cmm simulate: what it prints and writes, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "run_tool.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::json;

ToolResult simulate(const std::string& line) { return run_tool(words_of("simulate " + line)); }

Json json_of(const std::string& line) {
  const ToolResult result = simulate(line + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return Json::parse(result.out);
}

TEST(SimulateCommand, TellsTimeBoundAndCauses) {
  const Json it = json_of("--ranks 8 --hosts 8 --m 512 --k 4096 --n 1024 --algorithm ring");
  EXPECT_EQ(it.at("algorithm"), "ring");
  EXPECT_EQ(it.at("num_ranks"), 8);
  EXPECT_EQ(it.at("num_walked"), 1);
  const Json& terms = it.at("bound_terms");
  EXPECT_DOUBLE_EQ(it.at("bound_seconds").get<double>(),
                   std::max(terms.at("multiply_seconds").get<double>(),
                            terms.at("transfer_seconds").get<double>()) +
                       terms.at("first_chunk_seconds").get<double>() +
                       terms.at("last_chunk_seconds").get<double>());
  double idle = 0;
  for (const char* cause : {"transfer", "latency", "upstream", "slot"})
    idle += it.at(std::string("idle_") + cause + "_seconds").get<double>();
  EXPECT_NEAR(idle, it.at("exposed_seconds"), 1e-12);
  EXPECT_EQ(it.at("links").at(0).at("bytes"), 7 * 64 * 4096 * 2);
  const std::string shown = simulate("--ranks 8 --algorithm ring").out;
  for (const char* word : {"algorithm", "because", "time", "bound", "exposed", "links", "walked"})
    EXPECT_NE(shown.find(std::string("\n") + word), std::string::npos) << word;
}

TEST(SimulateCommand, TakesTheMachineFromItsFlags) {
  const double slow = json_of("--ranks 4 --m 64 --n 64 --link-gbit 1").at("gather_seconds");
  const double fast = json_of("--ranks 4 --m 64 --n 64 --link-gbit 100").at("gather_seconds");
  EXPECT_GT(slow, 10 * fast);
  const double late = json_of("--ranks 4 --m 1 --n 64 --link-us 5000").at("seconds");
  EXPECT_GT(late, 5e-3);
  const double one = json_of("--ranks 4 --gflops 100").at("multiply_seconds");
  const double two = json_of("--ranks 4 --gflops 200").at("multiply_seconds");
  EXPECT_DOUBLE_EQ(one, 2 * two);
  const double reads = json_of("--ranks 4 --m 1 --memory-gbytes 1").at("multiply_seconds");
  EXPECT_DOUBLE_EQ(reads, 4096 * 1024 * 2 / 1e9);
}

TEST(SimulateCommand, TakesASliceOfChips) {
  const Json it = json_of("--chip v6e --slice 2x4 --m 4096 --algorithm bidirectional");
  EXPECT_EQ(it.at("chip"), "v6e");
  EXPECT_EQ(it.at("slice"), "2x4");
  EXPECT_EQ(it.at("num_ranks"), 8);
  EXPECT_FALSE(it.contains("hosts"));
  EXPECT_EQ(it.at("links").at(0).at("num_alike"), 8);
  EXPECT_EQ(json_of("--chip v5e --ranks 16").at("slice"), "4x4");
  const Json best = json_of("--chip v6e --slice 2x4 --m 4096");
  EXPECT_EQ(best.at("reason").get<std::string>().rfind("the fastest of those simulated: ", 0), 0u);
  // A file of one's own.
  const Scratch scratch;
  Json chips = Json::parse(run_tool(words_of("tpu chips --json")).out);
  for (Json& chip : chips.at("chips"))
    if (chip.at("name") == "v6e") {
      chip.at("name") = "v6slow";
      chip.at("link_bytes_per_second").at("value") = 8.68e9;
    }
  const std::string path = scratch.file("chips.json");
  std::ofstream(path) << chips;
  const Json slow =
      json_of("--chips " + path + " --chip v6slow --slice 2x4 --m 4096 --algorithm bidirectional");
  EXPECT_NEAR(slow.at("gather_seconds").get<double>(), 10 * it.at("gather_seconds").get<double>(),
              0.2 * slow.at("gather_seconds").get<double>());
  expect_refused(simulate("--chips " + path + " --chip v6e"), 2,
                 "--chip is 'v6e'; " + path + " has v4, v5e, v5p, v6slow, 7x");
}

TEST(SimulateCommand, ComparesAllAlgorithmsFastestFirst) {
  const Json it = json_of("--ranks 16 --hosts 4 --compare");
  const Json& list = it.at("algorithms");
  ASSERT_EQ(list.size(), 5u);
  for (std::size_t i = 1; i < list.size(); ++i)
    EXPECT_LE(list[i - 1].at("seconds").get<double>(), list[i].at("seconds").get<double>());
  const std::string shown = simulate("--ranks 16 --hosts 4 --compare").out;
  for (const Json& one : list) {
    const auto name = one.at("algorithm").get<std::string>();
    EXPECT_NE(shown.find(cat("\n", name, " ")), std::string::npos) << name;
  }
}

TEST(SimulateCommand, WritesTraceAndPage) {
  const Scratch scratch;
  const std::string trace = scratch.file("trace.json"), page = scratch.file("page.html");
  const std::string line =
      "--ranks 6 --m 96 --algorithm bidirectional --trace " + trace + " --html " + page;
  EXPECT_EQ(simulate(line).exit_code, 0);
  EXPECT_GT(Json::parse(content_of(trace)).at("traceEvents").size(), 30u);
  const std::string first = content_of(page);
  EXPECT_NE(first.find("<h1>bidirectional, "), std::string::npos);
  EXPECT_EQ(simulate(line).exit_code, 0);
  EXPECT_EQ(content_of(page), first);
}

TEST(SimulateCommand, RefusesInOneLine) {
  struct Refusal {
    std::string line, part;
  };
  const Refusal refusals[] = {
      {"--ranks 0", "--ranks is '0'; give a whole number from 1 to 4096"},
      {"--ranks 4 --hosts 5", "--hosts is 5 but --ranks is 4; give at most one host per rank"},
      {"--algorithm fast", "--algorithm: unknown algorithm 'fast'; known are auto, direct"},
      {"--pieces 0", "--pieces is '0'; give a whole number from 1 to 1024"},
      {"--link-gbit 0", "--link-gbit is '0'; give a number from 0.001"},
      {"--compare --algorithm ring", "--compare shows all algorithms; leave --algorithm out"},
      {"--chip v9", "--chip: "},
      {"--slice 2x4", "--slice needs --chip, as in --chip v6e"},
      {"--chips a.json", "--chips needs --chip, as in --chip v6e"},
      {"--chip v6e --slice 2x", "--slice is '2x'; give whole numbers from 1 to 4096 with x"},
      {"--chip v6e --slice 2x4 --ranks 4",
       "--ranks is 4 but --slice 2x4 has 8 chips; leave --ranks out"},
      {"--chip v6e --slice 2x2x2",
       "slice 2x2x2 has 3 axes, but the links of v6e make a torus of 2"},
      {"--chip v6e --slice 100x100", "--slice 100x100 has 10000 chips; give at most 4096"},
      {"--chip v6e --link-us 5", "--link-us is of hosts; leave it out, or leave out --chip"},
      {"--chip v6e --dtype f16", "v6e does not multiply f16; take bf16"},
      {"--threads 2", "unknown argument --threads 2; `cmm simulate --help`"},
      {"--ranks 4096 --m 4097 --compare",
       "4096 of 4096 ranks must be walked one by one, since the 4097 rows of x are not spread "
       "evenly over 4096 ranks: 16773120 transfers, of which at most 1048576 can be; take fewer "
       "ranks or pieces"},
  };
  for (const Refusal& refusal : refusals) expect_refused(simulate(refusal.line), 2, refusal.part);
  expect_refused(run_tool({"simulate", "--trace", ""}), 2,
                 "--trace is ''; give the name of a file");
  expect_refused(simulate("--html /nowhere/page.html"), 3, "/nowhere/page.html");
}

}  // namespace
}  // namespace cmm::cli
