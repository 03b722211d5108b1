// From a wrong element in an output to the process's exit code.
#include "exit_code.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "problem.hpp"
#include "run_report.hpp"
#include "solve_on_threads.hpp"

namespace cmm::cli {
namespace {

Problem small_problem() {
  Problem p;
  p.ranks = 2;
  p.m = 5;
  p.k = 7;
  p.n = 9;
  p.dtype = DType::kF32;
  p.engine = Engine::kOwn;
  return p;
}

TEST(ExitCode, IsOneForOneWrongBit) {
  Solution solution = solve(small_problem());
  RunReport report;
  report.problem = small_problem();
  report.check = check_outputs(solution);
  EXPECT_EQ(exit_code_of(report.check), 0);
  EXPECT_EQ(report.json()["correct"], true);

  auto* last = static_cast<float*>(solution.data.out(1)[0].data) + 5 * 4 - 1;
  std::uint32_t bits = 0;
  std::memcpy(&bits, last, sizeof bits);
  bits ^= 1;
  std::memcpy(last, &bits, sizeof bits);
  report.check = check_outputs(solution);
  EXPECT_EQ(exit_code_of(report.check), 1);
  EXPECT_EQ(report.json()["correct"], false);
  EXPECT_EQ(report.json()["mismatches"], 1);
}

TEST(ExitCode, IsZeroWhereNothingWasChecked) { EXPECT_EQ(exit_code_of(std::nullopt), 0); }

TEST(ExitCode, TellsArgumentsFromTheOutsideWorld) {
  EXPECT_EQ(exit_code_of(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kUnsupported), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kIo), 3);
  EXPECT_EQ(exit_code_of(ErrorCode::kBadFile), 3);
  EXPECT_EQ(exit_code_of(ErrorCode::kOutOfMemory), 3);
}

}  // namespace
}  // namespace cmm::cli
