// What can be wrong with a problem whatever the kernel, and in what words.
#include <gtest/gtest.h>

#include <functional>

#include "cmm/tpu.hpp"
#include "support/text_of_error.hpp"

namespace cmm::tpu {
namespace {

using test::text_of_error;

Problem valid() {
  Problem problem;
  problem.m = 100;
  problem.k = 300;
  problem.n = {800};
  return problem;
}

std::string refusal(const std::function<void(Problem&)>& change) {
  Problem problem = valid();
  change(problem);
  return text_of_error([&] { check(problem); });
}

TEST(TpuProblem, ThatIsRaggedIsRight) {
  EXPECT_EQ(refusal([](Problem&) {}), "");
  EXPECT_EQ(refusal([](Problem& p) { p.mesh = {1}; }), "");
  EXPECT_EQ(refusal([](Problem& p) { p.mesh = {3, 8, 5}, p.axis = 1; }), "");
  EXPECT_EQ(refusal([](Problem& p) { p.m = 1; }), "");
}

TEST(TpuProblem, NamesTheExtentThatIsWrong) {
  EXPECT_EQ(refusal([](Problem& p) { p.m = 0; }), "m is 0; give at least one row of x");
  EXPECT_EQ(refusal([](Problem& p) { p.k = -1; }), "k is -1; give at least one column of x");
  EXPECT_EQ(refusal([](Problem& p) { p.n = {}; }),
            "there is no right side; give n of at least one");
  EXPECT_EQ(refusal([](Problem& p) {
              p.n = {800, 801};
            }),
            "n is 801; y is split by columns over 8 devices, so n must be a multiple of 8, as 808");
  EXPECT_EQ(refusal([](Problem& p) { p.n = {0}; }),
            "n is 0; y is split by columns over 8 devices, so n must be a multiple of 8, as 8");
  EXPECT_NE(refusal([](Problem& p) {
              p.m = p.k = 2'000'000'000;
            }).find("x [m, k] = [2000000000, 2000000000] has more than"),
            std::string::npos);
  for (const auto extent : {&Problem::m, &Problem::k}) {
    EXPECT_NE(refusal([&](Problem& p) {
                p.*extent = std::int64_t{1} << 40;
              }).find(" is 1099511627776; a kernel counts in 32 bits, up to 2147483647"),
              std::string::npos);
  }
  EXPECT_NE(refusal([](Problem& p) {
              p.n = {800, 8'000'000'000};
            }).find("n is 8000000000; a"),
            std::string::npos);
}

TEST(TpuProblem, NamesTheMeshThatIsWrong) {
  EXPECT_EQ(refusal([](Problem& p) { p.mesh = {}; }),
            "the mesh has no axes; give at least one, as in 8 or 2x4");
  EXPECT_EQ(refusal([](Problem& p) {
              p.mesh = {2, 0};
            }),
            "mesh 2x0 has an axis of 0 devices; give at least 1");
  EXPECT_EQ(refusal([](Problem& p) {
              p.mesh = {2, 4}, p.axis = 2;
            }),
            "axis is 2 but mesh 2x4 has axes 0 to 1");
  EXPECT_EQ(refusal([](Problem& p) {
              p.mesh = {64, 65};
            }),
            "mesh 64x65 has more than 4096 devices");
}

TEST(TpuProblem, TakesTheTypesOfSumsAsResults) {
  struct Case {
    Element element;
    Element out;
    bool right;
  };
  for (const Case& c :
       {Case{Element::kBF16, Element::kF32, true}, Case{Element::kBF16, Element::kBF16, true},
        Case{Element::kBF16, Element::kF8E4M3, false}, Case{Element::kF8E4M3, Element::kF32, true},
        Case{Element::kS8, Element::kS32, true}, Case{Element::kS8, Element::kS8, true},
        Case{Element::kS8, Element::kF32, false}}) {
    const std::string text = refusal([&](Problem& p) {
      p.element = c.element;
      p.out_element = c.out;
    });
    EXPECT_EQ(text.empty(), c.right) << element_name(c.element) << " to " << element_name(c.out);
  }
  EXPECT_EQ(refusal([](Problem& p) { p.element = Element::kS8, p.out_element = Element::kF32; }),
            "the product of int8 cannot be returned as f32; give int32, the type of its sums, or "
            "int8");
  EXPECT_NE(refusal([](Problem& p) { p.element = Element::kS32; }), "");
}

TEST(TpuProblem, ReturnsWhatHoldsTheSums) {
  Problem problem = valid();
  EXPECT_EQ(problem.result_element(), Element::kBF16);
  problem.element = Element::kS8;
  EXPECT_EQ(problem.result_element(), Element::kS32);
}

TEST(TpuSchedule, HasANameThatIsReadBack) {
  for (const Schedule schedule :
       {Schedule::kAuto, Schedule::kReference, Schedule::kWavefront, Schedule::kSequential}) {
    EXPECT_EQ(parse_schedule(schedule_name(schedule)), schedule);
  }
  EXPECT_EQ(text_of_error([] { parse_schedule("ring"); }),
            "no schedule 'ring'; there are auto, reference, wavefront and sequential");
}

}  // namespace
}  // namespace cmm::tpu
