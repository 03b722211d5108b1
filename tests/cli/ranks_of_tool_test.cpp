// The commands on ranks that are processes.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "buffer.hpp"
#include "cmm/mesh.hpp"
#include "files/matrix_writer.hpp"
#include "generator.hpp"
#include "run_as_ranks.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::json;

TEST(RunOnProcesses, HasTheHashOfThreads) {
  const std::string line = "run --m 17 --k 101 --n 127 --repeats 2 --engine own --check --json";
  const Json threads = Json::parse(run_tool(words_of(line + " --ranks 2")).out);
  EXPECT_EQ(threads["transport"], "threads");
  for (const char* algorithm : {"auto", "ring", "bidirectional", "recursive_doubling"}) {
    const Json j = Json::parse(output_of(Ranks(3, line + " --algorithm " + algorithm)));
    EXPECT_EQ(j["output_hash"], threads["output_hash"]) << algorithm;
    EXPECT_EQ(j["correct"], true) << algorithm;
    EXPECT_EQ(j["compared_elements"], 17 * 127);
    EXPECT_EQ(j["ranks"], 3);
    EXPECT_EQ(j["hosts"], 1);
    EXPECT_EQ(j["transport"], "shared memory");
    EXPECT_EQ(j["repeats"], 2);
    EXPECT_FALSE(j["spread"].contains("in_place_then_gemm"));
    EXPECT_DOUBLE_EQ(j["sequential_seconds"], j["spread"]["allgather_then_gemm"]["median"]);
    for (const char* key : {"median_seconds", "bound_seconds", "peak_gflops"}) {
      EXPECT_GT(j.at(key).get<double>(), 0.0) << key;
    }
  }
}

TEST(RunOnProcesses, TakesUnevenAndEmptyParts) {
  for (const char* line : {"run --rows 3,0,5 --k 64 --n 2 --weights 2 --check --repeats 1",
                           "run --m 0 --k 5 --n 7 --check --repeats 1",
                           "run --rows 0,0,4 --k 3 --n 1 --transpose-y --check --repeats 1"}) {
    EXPECT_NE(output_of(Ranks(3, line)).find("right: all"), std::string::npos) << line;
  }
}

TEST(RunOnProcesses, RefusesOnceWhatAllGetWrong) {
  expect_all_refuse(Ranks(3, "run --ranks 4"), 2,
                    "cmm: rank 0: --ranks is 4 but cmm launch started 3 ranks");
  expect_all_refuse(Ranks(2, "run --rows 1,2,3"), 2, "entries of --rows is 3 but");
  expect_all_refuse(Ranks(2, "run --m -1"), 2, "--m");
  expect_all_refuse(Ranks(2, "run --nonsense"), 2, "unknown argument --nonsense");
  expect_all_refuse(Ranks(2, "run --m 100000 --k 1000000"), 2, "are available");
  expect_all_refuse(Ranks(2, "run --m 1 --trace /nowhere/trace.json"), 3, "/nowhere/trace.json");
}

TEST(RunOnProcesses, NamesTheRankThatIsWrongAlone) {
  expect_all_refuse(Ranks({words_of("run --m 4"), words_of("run --m 4"), words_of("run --m x")}), 2,
                    "cmm: rank 2: --m is 'x'");
}

// Some of them the library would find, others would only make the result another one.
TEST(RunOnProcesses, RefusesRanksThatAreGivenDifferentArguments) {
  const auto refuse = [](const char* rank_0, const char* rank_1, const char* part) {
    expect_all_refuse(Ranks({words_of(rank_0), words_of(rank_0), words_of(rank_1)}), 2, part);
  };
  refuse("run --m 4", "run --m 5", "rank 0 was given --m '4' but rank 2 --m '5'; start all");
  refuse("run --m 4", "run --m 4 --out-dtype f32",
         "rank 0 was given no --out-dtype but rank 2 --out-dtype 'f32'");
  refuse("run --m 4 --seed 4", "run --m 4", "rank 0 was given --seed '4' but rank 2 no --seed");
  refuse("run --m 4", "run --m 4 --check", "rank 0 was given no --check but rank 2 --check;");
  refuse("run", "check", "rank 0 was given the command 'run' but rank 2 'check'");
  refuse("run --help", "run", "rank 0 was given --help but rank 2 no --help");
  refuse("multiply a.npy b.npy -o o.npy", "multiply a.npy c.npy -o o.npy",
         "rank 0 was given Y 'b.npy' but rank 2 Y 'c.npy'");
  const std::string long_path(100, 'd');
  refuse(("multiply a.npy " + long_path + "1.npy -o o.npy").c_str(),
         ("multiply a.npy " + long_path + "2.npy -o o.npy").c_str(), "d1.npy' but rank 2 Y '...d");
}

TEST(RunOnProcesses, TakesTheSameArgumentsInAnyOrder) {
  EXPECT_NE(output_of(Ranks({words_of("run --m 4 --k=8 --n 8 --repeats 1"),
                             words_of("run --n 8 --repeats 1 --k 8 --m=4")}))
                .find("[4, 8]"),
            std::string::npos);
}

TEST(RunOnProcesses, PrintsHelpOnce) {
  EXPECT_NE(output_of(Ranks(2, "run --help")).find("Examples:"), std::string::npos);
}

TEST(RunOnProcesses, RecordsTheCallOfAllRanks) {
  const Scratch scratch;
  const std::string path = scratch.file("trace.json");
  output_of(Ranks(2, "run --m 64 --k 64 --n 96 --algorithm ring --repeats 1 --trace " + path));
  const Json trace = Json::parse(content_of(path));
  std::set<int> ranks;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("cat") == "call")
      ranks.insert(event.at("pid").get<int>());
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1}));
}

// On this core alone while it lives; processes started meanwhile inherit that.
class BoundToOneCore {
 public:
  BoundToOneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~BoundToOneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

TEST(RunOnProcesses, WarnsWhereThreadsAreBoundToFewerCores) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "this machine has one core";
  const BoundToOneCore bound;
  const std::string line = "run --m 4 --k 8 --n 8 --repeats 1 --json ";
  const std::vector<ToolResult> results = Ranks(2, line + "--threads 2").results();
  EXPECT_EQ(results[0].exit_code, 0) << results[0].err;
  EXPECT_EQ(results[0].err,
            "cmm: rank 0 has 2 threads on the 1 core that its process is bound to; `mpirun "
            "--bind-to none` leaves it all cores\n");
  EXPECT_EQ(results[1].err, "");
  EXPECT_EQ(Json::parse(output_of(Ranks(2, line)))["threads"], 1);
}

template <class Happened>
bool wait_until(const Happened& happened, std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!happened()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Its peers wait for it before the first call, and no deadline of a call is there to find it.
TEST(RunOnProcesses, NamesARankThatIsStoppedBetweenCalls) {
  Ranks ranks(3, "run --m 64 --k 8192 --n 30000 --dtype f32 --threads 1 --deadline-ms 1000");
  // The ranks know each other once they watch each other. Then they make up 330 MB each.
  ASSERT_TRUE(wait_until([&] { return entries_of_process(ranks.pid(1), "task").size() > 1; }));
  ASSERT_EQ(kill(ranks.pid(1), SIGSTOP), 0);
  EXPECT_TRUE(wait_until([&] { return !ranks.err_so_far(0).empty(); }));
  for (std::size_t rank : {0, 2}) kill(ranks.pid(rank), SIGTERM);  // where nothing was found
  kill(ranks.pid(1), SIGCONT);
  const std::vector<ToolResult> results = ranks.results();
  expect_refused(results[0], 3,
                 "rank 0: rank 1 (process " + std::to_string(ranks.pid(1)) +
                     ") has been stopped for longer than the deadline of 1000 ms");
  EXPECT_NE(results[1].exit_code, 0);
}

TEST(RunOnProcesses, WaitsForTheRanksToStartAsLongAsTheDeadline) {
  const Scratch scratch;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid =
      start_tool(words_of("run --deadline-ms 1000"), scratch.file("out"), scratch.file("err"),
                 {"CMM_SOCKET=@cmm_tool_test_alone_" + std::to_string(getpid()), "CMM_RANK=0",
                  "CMM_NUM_RANKS=2"});
  expect_refused(result_of(pid, scratch.file("out"), scratch.file("err")), 3, "rank 1");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kDefaultDeadline / 2);
}

TEST(OtherCommandsOnProcesses, Work) {
  const Json plan = Json::parse(
      output_of(Ranks(3, "plan --m 100 --k 64 --n 96 --algorithm ring --pieces 2 --json")));
  EXPECT_EQ(plan["algorithm"], "ring");
  ASSERT_EQ(plan["ranks"].size(), 3u);
  EXPECT_EQ(plan["ranks"][1]["received_bytes"], 67 * 64 * 2);

  EXPECT_NE(output_of(Ranks(3, "check")).find("on 3 ranks (shared memory) and"), std::string::npos);
}

TEST(BenchOnProcesses, MeasuresARowForEachShape) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a minute under ThreadSanitizer, which sees no races between processes";
#endif
  const Json bench =
      Json::parse(output_of(Ranks(2, "bench --quick --dtype bf16 --repeats 1 --json")));
  ASSERT_EQ(bench["rows"].size(), 3u);
  EXPECT_GT(bench["rows"][2]["ratio_to_bound"].get<double>(), 0.0);
}

TEST(CheckOfNetwork, MeasuresSharedMemoryOnOneHost) {
  const Json j = Json::parse(output_of(Ranks(3, "check --network --json")));
  EXPECT_EQ(j["transport"], "shared memory");
  EXPECT_EQ(j["hosts"], 1);
  EXPECT_EQ(j["host_of_rank"], (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(j["host_names"].size(), 1u);
  EXPECT_FALSE(j.contains("links"));
  EXPECT_FALSE(j.contains("network"));
  const Json& hand_over = j["shared_memory"]["hand_over_seconds"];
  EXPECT_GT(hand_over["median"].get<double>(), 1e-8);
  EXPECT_LT(hand_over["median"].get<double>(), 0.1);
  EXPECT_LE(hand_over["min"].get<double>(), hand_over["max"].get<double>());
  const double rate = j["shared_memory"]["copy_bytes_per_second"]["median"].get<double>();
  EXPECT_GT(rate, 1e7);
  EXPECT_LT(rate, 1e13);
  EXPECT_NE(output_of(Ranks(2, "check --network")).find("no link to measure: all ranks"),
            std::string::npos);
}

TEST(CheckOfNetwork, NeedsTwoRanks) {
  expect_all_refuse(Ranks(1, "check --network"), 2, "and this is the only one; start two or more");
}

TEST(PlanOnHosts, RefusesRanksThatAreThere) {
  expect_all_refuse(Ranks(2, "plan --on-hosts 2"), 2, "cmm launch started ranks, whose hosts are");
}

class MultiplyOnProcesses : public testing::Test {
 protected:
  void write(const std::string& name, DType dtype, std::int64_t rows, std::int64_t cols) {
    Matrix m(dtype, rows, cols);
    generate_block({7, rows}, {}, m.ref());
    files::MatrixWriter writer(scratch_.file(name), dtype, rows, cols);
    writer.write_rows(m.ref());
    writer.commit();
  }
  std::string line(const std::string& out) const {
    return "multiply " + scratch_.file("x.npy") + " " + scratch_.file("y.npy") + " -o " +
           scratch_.file(out) + " --check --json ";
  }
  Scratch scratch_;
};

// Rows, columns and k of a product that lasts long enough to be met in the middle.
#ifdef CMM_SANITIZED
constexpr std::int64_t kLongExtent = 750;
#else
constexpr std::int64_t kLongExtent = 1500;
#endif

// An output that travels in several parts.
TEST_F(MultiplyOnProcesses, WritesTheFileOfThreads) {
  write("x.npy", DType::kBF16, 1001, 101);
  write("y.npy", DType::kBF16, 101, 4201);
  EXPECT_EQ(run_tool(words_of(line("threads.npy"))).exit_code, 0);
  const Json j = Json::parse(output_of(Ranks(3, line("processes.npy") + "--algorithm ring")));
  EXPECT_EQ(j["correct"], true);
  EXPECT_EQ(j["algorithm"], "ring");
  EXPECT_TRUE(content_of(scratch_.file("threads.npy")) ==
              content_of(scratch_.file("processes.npy")));
}

// More work than one call does. Not checked: the threads' output is, in multiply_command_test.
TEST_F(MultiplyOnProcesses, JoinsTheCallsOfALongProduct) {
#ifdef CMM_SANITIZED
  GTEST_SKIP() << "a minute under a sanitizer";
#endif
  write("x.npy", DType::kBF16, 2500, 1024);
  write("y.npy", DType::kBF16, 1024, 4201);
  const std::string line = "multiply " + scratch_.file("x.npy") + " " + scratch_.file("y.npy") +
                           " --algorithm ring --engine own -o ";
  EXPECT_EQ(run_tool(words_of(line + scratch_.file("threads.npy") + " --ranks 3")).exit_code, 0);
  output_of(Ranks(3, line + scratch_.file("processes.npy")));
  EXPECT_TRUE(content_of(scratch_.file("threads.npy")) ==
              content_of(scratch_.file("processes.npy")));
}

TEST_F(MultiplyOnProcesses, ReadsEachStoredForm) {
  write("x.npy", DType::kF32, 23, 37);
  write("y.npy", DType::kF32, 29, 37);
  const std::string hash = Json::parse(
      run_tool(words_of(line("a.npy") + "--transpose-y --engine own")).out)["output_hash"];
  EXPECT_EQ(
      Json::parse(output_of(Ranks(4, line("b.npy") + "--transpose-y --engine own")))["output_hash"],
      hash);
  EXPECT_TRUE(content_of(scratch_.file("a.npy")) == content_of(scratch_.file("b.npy")));
}

TEST_F(MultiplyOnProcesses, NamesARankThatCannotOpenAFile) {
  write("x.npy", DType::kF32, 5, 7);
  expect_all_refuse(Ranks(3, line("out.npy")), 3,
                    "cmm: rank 0: " + scratch_.file("y.npy") + ": cannot open");
  EXPECT_EQ(scratch_.names().size(), 1u);
}

// The output's unfinished file says that the ranks are there. Its product is ended early: that it
// is eight times as long as the other costs nothing.
TEST_F(MultiplyOnProcesses, EndsOnAllRanksWhenOneIsKilled) {
  write("x.npy", DType::kF32, 2 * kLongExtent, 2 * kLongExtent);
  write("y.npy", DType::kF32, 2 * kLongExtent, 2 * kLongExtent);
  for (const std::size_t victim : {std::size_t{0}, std::size_t{2}}) {
    Ranks ranks(3, line("out.npy") + "--isa portable");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!has_unfinished_output(ranks.pid(0), scratch_) &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(kill(ranks.pid(victim), SIGKILL), 0);
    const std::vector<ToolResult> results = ranks.results();
    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      expect_refused(results[rank], 3, "rank " + std::to_string(victim));
    }
    EXPECT_FALSE(std::filesystem::exists(scratch_.file("out.npy")));
    for (const std::string& name : scratch_.names()) {
      if (name != "x.npy" && name != "y.npy") std::filesystem::remove(scratch_.file(name));
    }
  }
}

// A rank that waits for a stopped one says so when it is asked, and goes on afterwards.
TEST_F(MultiplyOnProcesses, ShowsOnASignalWhatItWaitsFor) {
  write("x.npy", DType::kF32, kLongExtent, kLongExtent);
  write("y.npy", DType::kF32, kLongExtent, kLongExtent);
  Ranks ranks(2, line("out.npy") + "--isa portable");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto wait_until = [&](const std::function<bool()>& happened) {
    while (!happened() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  wait_until([&] { return has_unfinished_output(ranks.pid(0), scratch_); });
  ASSERT_EQ(kill(ranks.pid(1), SIGSTOP), 0);
  wait_until([&] {
    kill(ranks.pid(0), SIGUSR1);
    return ranks.err_so_far(0).find("waits for rank 1") != std::string::npos;
  });
  kill(ranks.pid(1), SIGCONT);
  const std::vector<ToolResult> results = ranks.results();
  EXPECT_EQ(results[0].exit_code, 0) << results[0].err;
  EXPECT_EQ(results[0].err.find("rank 0 of axis 'tp': "), 0u) << results[0].err;
  EXPECT_NE(results[0].err.find("waits for rank 1"), std::string::npos) << results[0].err;
  EXPECT_EQ(results[1].exit_code, 0) << results[1].err;
  EXPECT_EQ(Json::parse(results[0].out)["correct"], true);
}

}  // namespace
}  // namespace cmm::cli
