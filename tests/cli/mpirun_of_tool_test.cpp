// The commands on ranks that mpirun started.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "buffer.hpp"
#include "files/matrix_writer.hpp"
#include "generator.hpp"
#include "run_tool.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::json;

// CMM_MPIEXEC is the command up to the number of ranks.
std::vector<std::string> mpirun(int num_ranks, const std::string& line) {
  return words_of(std::string(CMM_MPIEXEC) + " " + std::to_string(num_ranks) + " " + CMM_TOOL_PATH +
                  " " + line);
}

class Mpirun : public testing::Test {
 protected:
  pid_t start(int num_ranks, const std::string& line) {
    return start_program(mpirun(num_ranks, line), scratch_.file("out"), scratch_.file("err"));
  }
  ToolResult finish(pid_t pid) {
    return result_of(pid, scratch_.file("out"), scratch_.file("err"));
  }
  ToolResult run(int num_ranks, const std::string& line) { return finish(start(num_ranks, line)); }

  void write(const std::string& name, std::int64_t rows, std::int64_t cols) {
    Matrix m(DType::kF32, rows, cols);
    generate_block({7, rows}, {}, m.ref());
    files::MatrixWriter writer(folder_.file(name), DType::kF32, rows, cols);
    writer.write_rows(m.ref());
    writer.commit();
  }
  std::string multiply(const std::string& out) const {
    return "multiply " + folder_.file("x.npy") + " " + folder_.file("y.npy") + " -o " +
           folder_.file(out) + " --check ";
  }

  Scratch scratch_;  // outputs of mpirun
  Scratch folder_;   // matrices
};

// mpirun adds lines of its own to standard error.
int lines_of_tool(const std::string& err) {
  int count = 0;
  for (std::size_t at = 0; (at = err.find("cmm: rank ", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_F(Mpirun, GivesTheHashOfThreads) {
  const std::string line = "run --m 17 --k 101 --n 127 --repeats 2 --engine own --check --json";
  const Json threads = Json::parse(run_tool(words_of(line)).out);
  for (const char* algorithm : {"auto", "ring"}) {
    const ToolResult result = run(3, line + " --algorithm " + algorithm);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json j = Json::parse(result.out);  // of rank 0 alone
    EXPECT_EQ(j["output_hash"], threads["output_hash"]) << algorithm;
    EXPECT_EQ(j["correct"], true) << algorithm;
    EXPECT_EQ(j["ranks"], 3);
  }
}

TEST_F(Mpirun, ChecksEveryAlgorithm) {
  const ToolResult result = run(3, "check");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("RIGHT: "), std::string::npos) << result.out;
}

TEST_F(Mpirun, RefusesOnceWhatAllGetWrong) {
  const ToolResult result = run(3, "run --ranks 2");
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("cmm: rank 0: --ranks is 2 but mpirun started 3 ranks"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(lines_of_tool(result.err), 1) << result.err;
}

TEST_F(Mpirun, WritesTheFileOfThreads) {
  write("x.npy", 300, 301);
  write("y.npy", 301, 707);
  EXPECT_EQ(run_tool(words_of(multiply("threads.npy"))).exit_code, 0);
  const ToolResult result = run(3, multiply("mpi.npy"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(content_of(folder_.file("threads.npy")) == content_of(folder_.file("mpi.npy")));
}

// The pid of the tool's process of that rank, found by what mpirun says in its environment; -1
// where there is none.
pid_t pid_of_rank(const std::string& out_spec, int rank) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    const std::string words = content_of_process(pid, "cmdline");
    if (words.rfind(std::string(CMM_TOOL_PATH) + '\0', 0) != 0) continue;
    if (words.find(out_spec) == std::string::npos) continue;
    const std::string variables = '\0' + content_of_process(pid, "environ");
    for (const char* variable : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="}) {
      const std::string wanted = '\0' + (variable + std::to_string(rank)) + '\0';
      if (variables.find(wanted) != std::string::npos) return pid;
    }
  }
  return -1;
}

// The unfinished output of rank 0 says that all ranks are there. mpirun returns: no rank waits in
// MPI_Finalize.
TEST_F(Mpirun, EndsTheJobWhenARankIsKilled) {
  write("x.npy", 3000, 3000);
  write("y.npy", 3000, 3000);
  const pid_t job = start(3, multiply("out.npy") + "--isa portable");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  pid_t writer = -1;
  while (std::chrono::steady_clock::now() < end) {
    if (writer < 0) writer = pid_of_rank(folder_.file("out.npy"), 0);
    if (writer > 0 && has_unfinished_output(writer, folder_)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const pid_t victim = pid_of_rank(folder_.file("out.npy"), 1);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  const ToolResult result = finish(job);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.npy")));
}

}  // namespace
}  // namespace cmm::cli
