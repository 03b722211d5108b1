// A ring all-gather on virtual devices: no false alarm in any mode, and a fault wherever something
// is missing.
#include "cmm/error.hpp"
#include "tpu/interpret/ring_programs.hpp"

namespace cmm::tpu {
namespace {

void expect_gathered(const RunResult& result, int num_devices) {
  std::vector<float> expected;
  for (int device = 0; device < num_devices; ++device) {
    for (int i = 0; i < 8 * 128; ++i) expected.push_back(static_cast<float>(10000 * device + i));
  }
  ASSERT_EQ(result.outputs.size(), static_cast<std::size_t>(num_devices));
  for (const std::vector<Array>& outputs : result.outputs) {
    ASSERT_EQ(values_of<float>(outputs.at(0)), expected);
  }
}

class Ring : public testing::TestWithParam<int> {};

TEST_P(Ring, GathersInEveryModeAndOrder) {
  const int P = GetParam();
  const Program program = ring_all_gather(P);
  ASSERT_EQ(check_program(program, v6e()), "");
  const auto inputs = numbered_inputs(program);
  for (const CopyMode copies : kCopyModes) {
    for (int late = -1; late < P; ++late) {
      for (const int num_calls : {1, 3}) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          const RunResult result =
              run(program, v6e(), inputs,
                  {.seed = seed, .copies = copies, .late_device = late, .num_calls = num_calls});
          ASSERT_FALSE(result.fault) << fault_text(result) << "\nseed " << seed;
          expect_gathered(result, P);
          EXPECT_EQ(result.remote_bytes, num_calls * P * (P - 1) * 8 * 128 * 4);
          EXPECT_EQ(result.local_bytes, num_calls * P * 8 * 128 * 4);
        }
      }
    }
  }
}

// One run is enough to know all of them; of a ring where a neighbour's second call can overtake the
// other neighbour's first, none is. Of three devices it cannot: each is everybody's neighbour.
TEST_P(Ring, HasOneOrderWhereItIsRight) {
  const int P = GetParam();
  for (const CopyMode copies : kCopyModes) {
    const auto two_calls = [&](const Program& program, std::uint64_t seed) {
      const RunResult result = run(program, v6e(), numbered_inputs(program),
                                   {.seed = seed, .copies = copies, .num_calls = 2});
      return result.fault ? "a fault" : result.may_differ;
    };
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(two_calls(ring_all_gather(P), seed), "");
      EXPECT_EQ(two_calls(ring_shift(P), seed), "");
      if (P > 3) {
        EXPECT_NE(two_calls(ring_shift(P, {.one_round = true}), seed), "");
      }
    }
  }
}

// What the devices say, in the order in which they say it.
std::vector<std::string> said(std::uint64_t seed, bool arithmetic) {
  Writer w(3);
  const int barrier = w.barrier(), x = w.hbm_input({8, 128}), slot = w.vmem({8, 128});
  const int come = w.dma("come");
  for (int device = 0; device < 3; ++device) w.signal_to(barrier, w.c(device));
  w.await_count(barrier, 3);
  w.loop(w.c(0), w.c(10), [&](Scalar i) {
    w.copy(w.whole(x), w.whole(slot), come);
    w.debug_print("{}", {i});
  });
  const Program program = w.finish();
  const RunResult result =
      run(program, v6e(), numbered_inputs(program), {.seed = seed, .arithmetic = arithmetic});
  EXPECT_FALSE(result.fault) << fault_text(result);
  return result.printed;
}

TEST(Seeds, DecideEverything) {
  const std::vector<std::string> first = said(1, true);
  ASSERT_EQ(first.size(), 30u);
  int num_other = 0;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_EQ(said(seed, true), said(seed, true));
    EXPECT_EQ(said(seed, true), said(seed, false));
    num_other += said(seed, true) == first ? 0 : 1;
  }
  EXPECT_EQ(num_other, 18);
}

TEST(Arguments, ThatDoNotFitTheProgramAreRefused) {
  const Program program = ring_all_gather(2);
  auto inputs = numbered_inputs(program);
  EXPECT_THROW(run(program, v6e(), inputs, {.num_calls = 0}), Error);
  EXPECT_THROW(run(program, v6e(), inputs, {.late_device = 2}), Error);
  inputs[1][0].pop_back();
  EXPECT_THROW(run(program, v6e(), inputs, {}), Error);
  inputs[1].clear();
  EXPECT_THROW(run(program, v6e(), inputs, {}), Error);
  inputs.pop_back();
  EXPECT_THROW(run(program, v6e(), inputs, {}), Error);
  inputs = numbered_inputs(program);
  inputs[0].push_back(inputs[0][0]);
  EXPECT_THROW(run(program, v6e(), inputs, {}), Error);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Ring, testing::Values(1, 2, 3, 4, 5));

}  // namespace
}  // namespace cmm::tpu
