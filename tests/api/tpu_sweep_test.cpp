// The sweep holds what it says it holds, and a part of it is verified here: the whole of it takes
// `cmm tpu verify --sweep` a minute.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cmm/tpu.hpp"
#include "support/text_of_error.hpp"

namespace cmm::tpu {
namespace {

TEST(TpuSweep, HoldsAllKinds) {
  std::set<std::string> names;
  std::set<std::tuple<Schedule, int, Element>> kinds;
  int transposed = 0, gathered = 0, several = 0, meshes = 0, forms = 0;
  for (const SweepCase& it : sweep(chip("v6e"))) {
    EXPECT_TRUE(names.insert(it.name).second) << it.name;
    EXPECT_EQ(test::text_of_error([&] { check(it.problem); }), "") << it.name;
    if (it.problem.mesh.size() == 1) {
      kinds.insert({it.options.schedule, it.problem.mesh[0], it.problem.element});
    }
    transposed += it.problem.rhs_transposed ? 1 : 0;
    gathered += it.problem.gathered ? 1 : 0;
    several += it.problem.n.size() > 1 ? 1 : 0;
    meshes += it.problem.mesh.size() > 1 ? 1 : 0;
    forms += it.options.parameters.empty() ? 0 : 1;
  }
  for (const Element element : {Element::kF32, Element::kBF16, Element::kF8E4M3, Element::kS8}) {
    for (int num_devices = 1; num_devices <= 9; ++num_devices) {
      EXPECT_TRUE(kinds.count({Schedule::kWavefront, num_devices, element}) > 0);
      EXPECT_EQ(kinds.count({Schedule::kReference, num_devices, element}) > 0, num_devices > 1);
    }
  }
  for (const int count : {transposed, gathered, several, meshes, forms}) EXPECT_GE(count, 8);
}

TEST(TpuSweep, LeavesOutWhatTheChipDoesNotMultiply) {
  for (const SweepCase& it : sweep(chip("v4"))) EXPECT_NE(it.problem.element, Element::kF8E4M3);
}

TEST(TpuSweep, IsRightWhereRingsAreSmall) {
  int num_kernels = 0;
  for (const SweepCase& it : sweep(chip("v6e"))) {
    if (it.problem.num_devices() > 4 || it.problem.mesh.size() > 1) continue;
    const Verification result =
        verify(it.problem, chip("v6e"), it.options, {.seed = 7, .num_interleavings = 2});
    EXPECT_TRUE(result.right) << it.name << ": " << result.fault << "\n" << result.text;
    EXPECT_EQ(result.num_runs, 3 + 2 * it.problem.num_devices() + 2) << it.name;
    ++num_kernels;
  }
  EXPECT_GT(num_kernels, 30);
}

}  // namespace
}  // namespace cmm::tpu
