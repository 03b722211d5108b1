// How many interleavings a second of processor time. The bounds are ten times what a core of 2024
// needs: what they find is work that has become quadratic.
#include "base/clock.hpp"
#include "tpu/interpret/ring_programs.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/operands.hpp"

namespace cmm::tpu {
namespace {

// Seconds of one run: the mean of `num_runs`, each with another seed. They are this thread's, so
// that others on the machine do not count.
double seconds_of_a_run(const Program& program, const Chip& chip,
                        const std::vector<std::vector<Array>>& inputs, RunOptions options,
                        int num_runs) {
  const double start = thread_cpu_seconds();
  for (int i = 0; i < num_runs; ++i) {
    options.seed = static_cast<std::uint64_t>(i);
    const RunResult result = run(program, chip, inputs, options);
    EXPECT_FALSE(result.fault) << fault_text(result);
  }
  const double seconds = (thread_cpu_seconds() - start) / num_runs;
  std::string name = program.name + (options.arithmetic ? "_arithmetic" : "_order") + "_us";
  testing::Test::RecordProperty(name, static_cast<int>(seconds * 1e6));
  return seconds;
}

#ifdef CMM_SANITIZED
constexpr double kSlower = 20;
#else
constexpr double kSlower = 1;
#endif

TEST(Speed, ThousandsOfOrdersOfASmallRing) {
  const Program program = ring_all_gather(3);
  EXPECT_LT(seconds_of_a_run(program, v6e(), numbered_inputs(program), {.arithmetic = false}, 500),
            1e-3 * kSlower);
}

// 2 x 2 blocks of 16 x 128 x 128 on each of 8 devices.
TEST(Speed, AReferenceKernelOfEightDevices) {
  Chip chip = v6e();
  chip.vmem_bytes = std::int64_t{128} << 20;
  chip.smem_bytes = std::int64_t{1} << 20;
  chip.num_semaphores = 480;
  chip.mxu_rate = {1, 1, 1, 1, 1};
  ReferenceOptions options;
  options.ring.mesh = {8};
  options.m = 8 * 16;
  options.k = 256;
  options.n = 8 * 256;
  options.bn = 128;
  options.bk = 128;
  const Kernel kernel = reference_kernel(options, chip);
  const auto inputs = Expectation(kernel, 1).inputs(kernel);
  EXPECT_LT(seconds_of_a_run(kernel.program, chip, inputs, {.arithmetic = false}, 20),
            0.05 * kSlower);
  EXPECT_LT(seconds_of_a_run(kernel.program, chip, inputs, {}, 5), 0.3 * kSlower);
}

}  // namespace
}  // namespace cmm::tpu
