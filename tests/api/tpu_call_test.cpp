// What a caller of the JAX function is told beforehand. Each of the reference's mistakes in its
// checks (a message with another value in it, a check of the wrong thing, no check) is a case here.
#include <gtest/gtest.h>

#include <functional>

#include "cmm/tpu.hpp"
#include "support/text_of_error.hpp"

namespace cmm::tpu {
namespace {

using test::text_of_error;

Call valid() {
  Call call;
  call.x_shape = {1024, 5120};
  call.y_shape = {5120, 51200};
  call.mesh = {{"tp", 8}};
  call.axis_name = "tp";
  return call;
}

Call valid_for_reference() {
  Call call = valid();
  call.schedule = Schedule::kReference;
  return call;
}

std::string refusal(Call call, const std::function<void(Call&)>& change) {
  change(call);
  return text_of_error([&] { validate_inputs(call, chip("v6e")); });
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(TpuCall, ThatIsRightIsTaken) {
  EXPECT_EQ(refusal(valid(), [](Call&) {}), "");
  EXPECT_EQ(refusal(valid_for_reference(), [](Call&) {}), "");
}

TEST(TpuCall, WithoutBlockSizesGetsSomeThatDivide) {
  // The reference falls back to all of n, of which a device has an eighth.
  for (const std::int64_t n : {1024, 2048, 10240, 24576, 51200}) {
    for (const std::int64_t k : {256, 640, 5120, 7168}) {
      Problem problem;
      problem.m = 256;
      problem.k = k;
      problem.n = {n};
      const BlockSizes sizes = tuned_block_sizes(problem, chip("v6e"));
      EXPECT_EQ(n / 8 % sizes.bn, 0) << n << " " << sizes.bn;
      EXPECT_EQ(k % sizes.bk, 0) << k << " " << sizes.bk;
      EXPECT_EQ(sizes.bn % 128, 0);
      EXPECT_EQ(sizes.bk % 128, 0);
      EXPECT_FALSE(sizes.tuned);
    }
  }
  EXPECT_EQ(refusal(valid_for_reference(), [](Call& c) { c.y_shape = {5120, 24576}; }), "");
}

TEST(TpuCall, HasTheTunedBlockSizesOfItsShape) {
  struct Tuned {
    std::int64_t m, n, k, bn, bk;
  };
  for (const Tuned& t :
       {Tuned{1024, 51200, 5120, 6400, 2560}, Tuned{1024, 57344, 8192, 7168, 8192},
        Tuned{2048, 51200, 5120, 1280, 5120}, Tuned{2048, 57344, 8192, 1024, 8192},
        Tuned{4096, 51200, 5120, 3200, 5120}, Tuned{8192, 51200, 5120, 1280, 5120}}) {
    Problem problem;
    problem.m = t.m;
    problem.k = t.k;
    problem.n = {t.n};
    const BlockSizes sizes = tuned_block_sizes(problem, chip("v6e"));
    EXPECT_EQ(sizes.bn, t.bn);
    EXPECT_EQ(sizes.bk, t.bk);
    EXPECT_TRUE(sizes.tuned);
    problem.m = t.m + 256;
    EXPECT_FALSE(tuned_block_sizes(problem, chip("v6e")).tuned);
  }
}

TEST(TpuCall, RefusesAColumnBlockThatDoesNotDivide) {
  const std::string text = refusal(valid(), [](Call& c) { c.bn = 1024; });  // of 6400
  expect_in(text, "bn is 1024");
  expect_in(text, "n/P = 6400");
  expect_in(refusal(valid(), [](Call& c) { c.bn = 51200; }), "bn is 51200");
}

TEST(TpuCall, RefusesAKBlockThatDoesNotDivide) {
  const std::string text = refusal(valid(), [](Call& c) { c.bk = 2048; });  // of 5120
  expect_in(text, "bk is 2048");
  expect_in(text, "k = 5120");
}

TEST(TpuCall, RefusesBlockSizesThatAreNone) {
  expect_in(refusal(valid(), [](Call& c) { c.bn = 0; }), "bn is 0");
  expect_in(refusal(valid(), [](Call& c) { c.bk = -128; }), "bk is -128");
  expect_in(refusal(valid(), [](Call& c) { c.bn = 100; }), "multiple of 128");
}

TEST(TpuCall, OfOneDeviceIsForOurKernelOnly) {
  const auto one = [](Call& c) {
    c.mesh = {{"tp", 1}};
    c.y_shape = {5120, 6400};
    c.collective_id.reset();  // nobody to wait for
  };
  EXPECT_EQ(refusal(valid(), one), "");
  expect_in(refusal(valid_for_reference(), one), "1 device");
}

TEST(TpuCall, HasAVmemEstimateOfWhatIsAllocated) {
  // MiB that the reference kernel's buffers have; its own estimate says up to 1.55 times as much.
  struct Allocated {
    std::int64_t m, n, k;
    double mib;
  };
  for (const Allocated& a :
       {Allocated{1024, 51200, 5120, 71.2}, Allocated{1024, 57344, 8192, 119.5},
        Allocated{2048, 51200, 5120, 68.8}, Allocated{2048, 57344, 8192, 121.0},
        Allocated{4096, 51200, 5120, 78.8}, Allocated{8192, 51200, 5120, 87.5}}) {
    Problem problem;
    problem.m = a.m;
    problem.k = a.k;
    problem.n = {a.n};
    KernelOptions options;
    options.schedule = Schedule::kReference;
    const std::int64_t bytes = vmem_estimate_bytes(problem, chip("v6e"), options);
    EXPECT_NEAR(double(bytes) / (1 << 20), a.mib, 0.051) << a.m << " " << a.n;
    EXPECT_EQ(describe(problem, chip("v6e"), options).vmem_bytes, bytes);
  }
}

TEST(TpuCall, ThatDoesNotFitIsToldTheBytes) {
  // All of y on the chip: 8192 x 28672 / 4 in bf16 are 112 MiB and x comes on top.
  const std::string text = refusal(valid_for_reference(), [](Call& c) {
    c.x_shape = {2048, 8192};
    c.y_shape = {8192, 28672};
    c.mesh = {{"tp", 4}};
  });
  expect_in(text, "bytes of VMEM");
  expect_in(text, "v6e has 134217728");
  EXPECT_EQ(refusal(valid(),
                    [](Call& c) {
                      c.x_shape = {2048, 8192};
                      c.y_shape = {8192, 28672};
                      c.mesh = {{"tp", 4}};
                    }),
            "");
}

TEST(TpuCall, IsToldTheMultipleThatRowsMustHave) {
  const std::string text = refusal(valid_for_reference(), [](Call& c) { c.x_shape[0] = 1000; });
  expect_in(text, "m is 1000");
  expect_in(text, "= 128");
  EXPECT_EQ(text.find('{'), std::string::npos) << text;
  EXPECT_EQ(text.find("tp_size"), std::string::npos) << text;
}

TEST(TpuCall, IsToldTheAxisThatColumnsAreSplitOver) {
  expect_in(refusal(valid(), [](Call& c) { c.y_shape[1] = 51201; }),
            "y is [5120, 51201], so n is 51201; it is split over the 8 devices of axis 'tp', so n "
            "must be a multiple of 8");
}

TEST(TpuCall, IsCheckedForColumnsOfADevice) {
  // n is a multiple of 128, n / P is not.
  expect_in(refusal(valid_for_reference(), [](Call& c) { c.y_shape[1] = 1280; }), "160");
  EXPECT_EQ(refusal(valid(), [](Call& c) { c.y_shape[1] = 1280; }), "");
  expect_in(refusal(valid(), [](Call& c) { c.x_shape[0] = 0; }), "m is 0");
  expect_in(refusal(valid(), [](Call& c) { c.x_shape[1] = c.y_shape[0] = 0; }), "k is 0");
}

TEST(TpuCall, OfFewRowsIsTaken) {
  for (const std::int64_t m : {1, 7, 16, 100}) {
    EXPECT_EQ(refusal(valid(), [m](Call& c) { c.x_shape[0] = m; }), "") << m;
  }
}

TEST(TpuCall, ReturnsSumsOfInt8AsInt32) {
  Call call = valid();
  call.x_dtype = call.y_dtype = "int8";
  EXPECT_EQ(problem_of(call, chip("v6e")).result_element(), Element::kS32);
  call.schedule = Schedule::kReference;
  expect_in(refusal(call, [](Call&) {}), "int32");
  expect_in(refusal(valid(), [](Call& c) { c.x_dtype = "int8"; }), "x is int8 and y is bfloat16");
  expect_in(refusal(valid(), [](Call& c) { c.x_dtype = c.y_dtype = "float16"; }),
            "x has dtype float16");
  EXPECT_EQ(refusal(valid(), [](Call& c) { c.x_dtype = "bf16"; }), "");
}

TEST(TpuCall, IsCheckedWithoutAChip) {
  Call call = valid();
  call.x_dtype = call.y_dtype = "float16";  // no type of a TPU's, and no matter here
  EXPECT_EQ(text_of_error([&] { check(call); }), "");
  call.y_shape[0] = 512;
  expect_in(text_of_error([&] { check(call); }), "they must be equal");
  call = valid();
  call.y_shape[1] = 0;
  expect_in(text_of_error([&] { check(call); }), "n is 0");
  call = valid();
  call.collective_id.reset();
  expect_in(text_of_error([&] { check(call); }), "collective_id is None");
  call = valid();
  call.bn = 0;
  expect_in(text_of_error([&] { check(call); }), "bn is 0");
}

TEST(TpuCall, OnAMeshOfTwoAxesIsTaken) {
  Call call = valid();
  call.mesh = {{"dp", 2}, {"tp", 4}};
  EXPECT_EQ(refusal(call, [](Call&) {}), "");
  const Problem problem = problem_of(call, chip("v6e"));
  EXPECT_EQ(problem.mesh, (std::vector<int>{2, 4}));
  EXPECT_EQ(problem.axis, 1);
  expect_in(refusal(call, [](Call& c) { c.axis_name = "ep"; }),
            "axis_name is 'ep', but the mesh has the axes 'dp' of 2, 'tp' of 4");
}

TEST(TpuCall, NeedsACollectiveId) {
  expect_in(refusal(valid(), [](Call& c) { c.collective_id.reset(); }), "collective_id is None");
  expect_in(refusal(valid(), [](Call& c) { c.collective_id = -1; }), "collective_id is -1");
}

TEST(TpuCall, IsToldOfShapesThatDoNotFit) {
  expect_in(refusal(valid(),
                    [](Call& c) {
                      c.x_shape = {4, 1024, 5120};
                    }),
            "x has shape [4, 1024, 5120]; it must have 2 dimensions");
  expect_in(refusal(valid(), [](Call& c) { c.y_shape = {5248, 51200}; }), "they must be equal");
  expect_in(refusal(valid(),
                    [](Call& c) {
                      c.y_shape = {51200, 5120};
                    }),
            "rhs_transpose=True takes y as it is");
}

TEST(TpuCall, CostsWhatADeviceDoesAndMoves) {
  Problem problem;
  problem.mesh = {4};
  problem.m = 256;
  problem.k = 512;
  problem.n = {2048};
  for (const Schedule schedule : {Schedule::kReference, Schedule::kWavefront}) {
    KernelOptions options;
    options.schedule = schedule;
    const CostEstimate cost = cost_estimate(problem, chip("v6e"), options);
    EXPECT_EQ(cost.flops, 2LL * 256 * 512 * 512);
    EXPECT_EQ(cost.remote_bytes, 3 * 64 * 512 * 2);  // three of four shards pass through
    // Each operand read and the result written once is the least there can be.
    EXPECT_GE(cost.hbm_bytes, 2 * (64 * 512 + 512 * 512 + 256 * 512));
  }
}

TEST(TpuCall, HasAKernelNameWithWhatItWasMadeFor) {
  KernelOptions options;
  options.schedule = Schedule::kReference;
  Problem problem = problem_of(valid(), chip("v6e"));
  expect_in(kernel_name(problem, chip("v6e"), options), "bn_6400_bk_2560");
  options.schedule = Schedule::kWavefront;
  expect_in(kernel_name(problem, chip("v6e"), options), "wavefront");
}

}  // namespace
}  // namespace cmm::tpu
