// What the tool refuses, and in what words: exit code 2 and one line that names the value and what
// would be right.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "run_tool.hpp"

namespace cmm::cli {
namespace {

struct Refusal {
  const char* line;
  const char* part;  // of the message
};

class WrongArguments : public testing::TestWithParam<Refusal> {};

TEST_P(WrongArguments, AreRefusedInOneLine) {
  expect_refused(run_tool(words_of(GetParam().line)), 2, GetParam().part);
}

INSTANTIATE_TEST_SUITE_P(
    Words, WrongArguments,
    testing::Values(
        Refusal{"",
                "no command given; the commands are run, multiply, plan, simulate, check, bench"},
        Refusal{"walk", "'walk' is no command; the commands are run, multiply"},
        Refusal{"--walk", "'--walk' is no command"},
        Refusal{"run --walk", "unknown argument --walk; `cmm run --help` lists"},
        // A plan has no data and does not multiply.
        Refusal{"plan --engine own", "unknown argument --engine own"},
        Refusal{"plan --seed 1", "unknown argument --seed 1"},
        Refusal{"plan --transpose-y", "unknown argument --transpose-y"},
        Refusal{"plan --deadline-ms 1", "unknown argument --deadline-ms 1"},
        Refusal{"plan fast", "unknown argument fast; `cmm plan --help`"},
        Refusal{"run --m", "--m needs a value"},
        Refusal{"run --m 3 --m 4", "--m is given more than once"},
        Refusal{"run --check=3", "--check takes no value"},
        Refusal{"run --m --k 3", "--m is '--k'; give a whole number"},
        Refusal{"check --m 3", "unknown argument"}));

INSTANTIATE_TEST_SUITE_P(
    Values, WrongArguments,
    testing::Values(
        Refusal{"run --ranks 0", "--ranks is '0'; give a whole number from 1 to 4096"},
        Refusal{"run --ranks 4097", "--ranks is '4097'; give a whole number from 1 to 4096"},
        Refusal{"run --ranks two", "--ranks is 'two'"},
        Refusal{"run --threads 0", "--threads is '0'; give a whole number from 1 to 1024"},
        Refusal{"run --m -1", "--m is '-1'; give a whole number from 0 on"},
        Refusal{"run --k 1.5", "--k is '1.5'"}, Refusal{"run --n 1e6", "--n is '1e6'"},
        Refusal{"run --n 99999999999999999999", "--n is '99999999999999999999'"},
        Refusal{"run --rows 3,x", "has 'x' at place 2"},
        Refusal{"run --rows 3,,4", "has '' at place 2"},
        Refusal{"run --dtype f64", "--dtype: unknown dtype 'f64'; known are f32, bf16, f16"},
        Refusal{"run --out-dtype int8", "--out-dtype: unknown dtype 'int8'"},
        Refusal{"run --algorithm star",
                "--algorithm: unknown algorithm 'star'; known are auto, direct"},
        Refusal{"run --isa sse2", "--isa: unknown instruction set 'sse2'; known are"},
        Refusal{"run --engine mkl", "--engine: unknown engine 'mkl'"},
        Refusal{"run --hosts 0", "--hosts is '0'"}, Refusal{"run --pieces 0", "--pieces is '0'"},
        Refusal{"run --weights 0", "--weights is '0'"},
        Refusal{"run --repeats 0", "--repeats is '0'"}, Refusal{"run --seed -1", "--seed is '-1'"},
        Refusal{"run --deadline-ms 0", "--deadline-ms is '0'"},
        Refusal{"run --link-gbit 0", "--link-gbit is '0'; give a number from 0.001 to 1e+06"},
        Refusal{"bench --link-gbit nan", "--link-gbit is 'nan'"},
        Refusal{"multiply x.npy y.npy -o out.npy --link-us -1", "--link-us is '-1'"},
        Refusal{"plan --on-hosts 0", "--on-hosts is '0'; give a whole number from 1 to 4096"},
        Refusal{"bench --dtype f8", "--dtype: unknown dtype 'f8'"},
        Refusal{"bench --repeats many", "--repeats is 'many'"}));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, WrongArguments,
    testing::Values(
        Refusal{"run --rows 3,4 --ranks 3", "--rows 3,4 has 2 entries but --ranks is 3; give 3"},
        Refusal{"run --rows 3,4 --m 8", "--rows 3,4 sums to 7 but --m is 8"},
        Refusal{"plan --rows 3,4 --ranks 3", "--rows 3,4 has 2 entries"},
        Refusal{"run --ranks 4096 --threads 5", "are 20480 threads; give at most 16384"},
        Refusal{"run --ranks 2 --hosts 3", "--hosts is 3 but --ranks is 2"},
        Refusal{"plan --ranks 2 --on-hosts 3", "--on-hosts is 3 but --ranks is 2"},
        Refusal{"check --network",
                "--network measures between ranks that were started together, and none were"},
        Refusal{"run --m 4000000000 --k 4000000000", "x [m, k] = [4000000000, 4000000000]"},
        Refusal{"run --k 4000000000 --n 4000000000", "y [k, n] = [4000000000, 4000000000]"},
        Refusal{"run --m 4000000000 --k 1 --n 4000000000", "out [m, n] = [4000000000, 4000000000]"},
        Refusal{"run --m 1000000 --k 1000000", "of memory and"},
        Refusal{"multiply", "X is required"}, Refusal{"multiply x.npy", "Y is required"},
        Refusal{"multiply x.npy y.npy", "--output is required"},
        Refusal{"multiply x.txt y.npy -o out.npy", "x.txt"},
        Refusal{"multiply x.npy y.npy -o out.txt", "out.txt"}));

TEST(Memory, IsWeighedBeforeItIsTaken) {
  const ToolResult result = run_tool(words_of("run --m 8 --k 1000000 --n 10000000"));
  expect_refused(result, 2, "this problem needs");
  EXPECT_NE(result.err.find("TB of memory and"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("available; give smaller sizes"), std::string::npos) << result.err;
}

TEST(Isa, ThatTheMachineLacksIsRefusedWithThoseItHas) {
  // An x86 machine may have them all.
  for (const char* isa : {"avx2", "avx512", "avx512_bf16"}) {
    const ToolResult result =
        run_tool({"run", "--isa", isa, "--m", "1", "--k", "1", "--n", "1", "--repeats", "1"});
    if (result.exit_code == 0) continue;
    expect_refused(result, 2,
                   std::string("--isa ") + isa + " cannot run on this machine; it can run ");
  }
}

TEST(Help, ShowsExamplesForEveryCommand) {
  const ToolResult top = run_tool({"--help"});
  EXPECT_EQ(top.exit_code, 0);
  for (const char* command : {"run", "multiply", "plan", "simulate", "check", "bench"}) {
    EXPECT_NE(top.out.find(command), std::string::npos);
    const ToolResult help = run_tool({command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find("Example"), std::string::npos);
    EXPECT_NE(help.out.find(std::string("cmm ") + command), std::string::npos);
  }
}

TEST(StandardOutput, ThatCannotBeWrittenIsAnError) {
  const Scratch scratch;
  for (const char* line : {"plan --m 4 --k 4 --n 4", "plan --m 4 --k 4 --n 4 --json --ranks 64",
                           "--version", "run --help"}) {
    const pid_t pid = start_tool(words_of(line), "/dev/full", scratch.file("err"));
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 3) << line;
    const std::string err = content_of(scratch.file("err"));
    EXPECT_EQ(err.find("cmm: cannot write to standard output"), 0u) << line << err;
    EXPECT_EQ(err.find('\n') + 1, err.size()) << err;
  }
}

TEST(StandardOutput, MayNotBeClosed) {
  const Scratch scratch;
  const std::string command = std::string("'") + CMM_TOOL_PATH +
                              "' plan --m 4 --k 4 --n 4 >&- 2>'" + scratch.file("err") + "'";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(content_of(scratch.file("err")).find("cmm: cannot write to standard output"), 0u);
}

TEST(Version, IsTheProjects) {
  const ToolResult result = run_tool({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "cmm " CMM_VERSION "\n");
}

}  // namespace
}  // namespace cmm::cli
