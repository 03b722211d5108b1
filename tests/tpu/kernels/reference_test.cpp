#include "tpu/kernels/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/text_of_error.hpp"
#include "tpu/shapes.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/expect_right.hpp"

namespace cmm::tpu {
namespace {

using test::chip_of_generation;

ReferenceOptions small(int num_devices = 4) {
  return {.ring = {{num_devices}, 0},
          .m = 2 * 8 * num_devices,
          .k = 256,
          .n = 256 * num_devices,
          .element = Element::kBF16,
          .bn = 128,
          .bk = 128};
}

// The shapes it has been tuned for, and what its own estimate should have said (it says 93.1,
// 144.0, 77.5, 128.0, 122.5 and 122.5).
TEST(Reference, NeedsTheVmemOfItsBuffers) {
  struct Tuned {
    std::int64_t m, n, k, bn, bk;
    double mebibytes;
  };
  const std::vector<Tuned> shapes = {
      {1024, 51200, 5120, 6400, 2560, 71.2}, {1024, 57344, 8192, 7168, 8192, 119.5},
      {2048, 51200, 5120, 1280, 5120, 68.8}, {2048, 57344, 8192, 1024, 8192, 121.0},
      {4096, 51200, 5120, 3200, 5120, 78.8}, {8192, 51200, 5120, 1280, 5120, 87.5}};
  const Chip chip = chip_of_generation(6);
  for (const Tuned& shape : shapes) {
    const ReferenceOptions options = {
        .ring = {{8}, 0}, .m = shape.m, .k = shape.k, .n = shape.n, .bn = shape.bn, .bk = shape.bk};
    EXPECT_EQ(why_not_reference(options, chip), "");
    const std::int64_t bytes = reference_vmem_bytes(options, chip);
    EXPECT_NEAR(std::ldexp(static_cast<double>(bytes), -20), shape.mebibytes, 0.06);
    const Program program = reference_kernel(options, chip).program;
    EXPECT_EQ(bytes, vmem_bytes(program, chip));
    EXPECT_EQ(num_semaphores(program), 4 + 4 * 7);
  }
}

TEST(Reference, IsNamedByItsBlockSizes) {
  ReferenceOptions options;
  options.bn = 6400;
  options.bk = 2560;
  EXPECT_EQ(reference_name(options),
            "all_gather_matmul_kernel_bn_6400_bk_2560_rhs_transpose_False");
  options.rhs_transposed = true;
  EXPECT_EQ(reference_name(options), "all_gather_matmul_kernel_bn_6400_bk_2560_rhs_transpose_True");
}

TEST(Reference, SaysWhatItsOperandsAre) {
  const Kernel kernel = reference_kernel(small(), chip_of_generation(6));
  EXPECT_EQ(kernel.rows_asked, 16);
  EXPECT_EQ(kernel.shard_rows, 16);
  EXPECT_EQ(kernel.padded.cols, std::vector<std::int64_t>{256});
  EXPECT_TRUE(kernel.table.empty());
  EXPECT_FALSE(kernel.gathered);
  EXPECT_EQ(kernel.program.grid, (std::vector<std::int64_t>{6, 2, 2}));
  std::vector<std::vector<std::int64_t>> inputs, outputs;
  for (const Buffer& buffer : kernel.program.buffers) {
    if (buffer.role == Role::kInput) inputs.push_back(buffer.shape);
    if (buffer.role == Role::kOutput) outputs.push_back(buffer.shape);
  }
  EXPECT_EQ(inputs, (std::vector<std::vector<std::int64_t>>{{16, 256}, {256, 256}}));
  EXPECT_EQ(outputs, (std::vector<std::vector<std::int64_t>>{{64, 256}, {3, 16, 256}}));
}

// What it moves and multiplies, from what each device must.
TEST(Reference, CountsItsWork) {
  const Cost cost = reference_kernel(small(), chip_of_generation(6)).program.cost;
  EXPECT_EQ(cost.flops, 2 * 64 * 256 * 256);
  EXPECT_EQ(cost.remote_bytes, 3 * 16 * 256 * 2);
  const std::int64_t own = 16 * 256, received = 3 * own, y = 256 * 256, out = 64 * 256;
  EXPECT_EQ(cost.hbm_bytes, 2 * (own + 3 * received + y + out));
}

struct Refusal {
  const char* what;
  ReferenceOptions options;
  std::vector<const char*> words;  // of the message, in any order
  int generation = 6;
};

ReferenceOptions with(const std::function<void(ReferenceOptions&)>& change) {
  ReferenceOptions options = small(8);
  change(options);
  return options;
}

// Each defect of the reference kernel that a caller can run into, and its own limits, too.
const std::vector<Refusal>& refusals() {
  using O = ReferenceOptions;
  static const std::vector<Refusal> kRefusals = {
      {"all of n for bn", with([](O& o) { o.bn = o.n; }), {"bn is 2048", "n/P = 256", "as 256"}},
      {"bn leaves a rest",
       with([](O& o) { o.n = 8 * 640, o.bn = 512; }),
       {"bn is 512", "last block would have 128", "n/P = 640", "as 640"}},
      {"bk leaves a rest",
       with([](O& o) { o.k = 640, o.bk = 256; }),
       {"bk is 256", "last block would have 128", "k = 640", "as 128"}},
      {"one device",
       with([](O& o) {
         o.ring = {{1}, 0};
       }),
       {"axis 0", "mesh 1", "2 or more"}},
      {"one device on the axis",
       with([](O& o) {
         o.ring = {{4, 1}, 1};
       }),
       {"axis 1", "mesh 4x1", "2 or more"}},
      {"more VMEM than there is",
       with([](O& o) { o.k = 16384, o.n = 8 * 8192, o.bn = 128, o.bk = 128; }),
       {"269500416 bytes", "y on chip 268435456", "x slots 1048576", "out slots 8192",
        "accumulator 8192", "134217728"}},
      {"m no multiple of 2 P tiles",
       with([](O& o) { o.m = 1000; }),
       {"m is 1000", "128", "896 or 1024"}},
      {"m = 0", with([](O& o) { o.m = 0; }), {"m is 0", "as 128"}},
      {"m of a decode batch", with([](O& o) { o.m = 16; }), {"m is 16", "as 128"}},
      {"half a shard of int8 no tile",
       with([](O& o) { o.element = Element::kS8; }),
       {"m is 128", "32 rows of a tile of int8", "as 512"}},
      {"half a shard of bf16 no tile of generation 7",
       with([](O&) {}),
       {"m is 128", "16 rows of a tile of bf16", "as 256"},
       7},
      {"k = 0", with([](O& o) { o.k = 0; }), {"k is 0", "as 128"}},
      {"k no multiple of 128", with([](O& o) { o.k = 200; }), {"k is 200", "as 128 or 256"}},
      {"n not split evenly", with([](O& o) { o.n = 1001; }), {"n is 1001", "8 devices", "1024"}},
      {"n/P = 16", with([](O& o) { o.n = 128; }), {"n is 128", "n/P = 16", "n = 1024"}},
      {"n/P = 160", with([](O& o) { o.n = 1280; }), {"n/P = 160", "n = 1024 or 2048"}},
      {"bn = 0", with([](O& o) { o.bn = 0; }), {"bn is 0", "n/P = 256", "as 128"}},
      {"bn < 0", with([](O& o) { o.bn = -128; }), {"bn is -128", "negative", "as 128"}},
      {"bn = 100", with([](O& o) { o.bn = 100; }), {"bn is 100", "multiple of 128", "as 128"}},
      {"bk = 0", with([](O& o) { o.bk = 0; }), {"bk is 0", "k = 256", "as 128"}},
      {"bk < 0", with([](O& o) { o.bk = -1; }), {"bk is -1", "negative"}},
      {"bk > k", with([](O& o) { o.bk = 512; }), {"bk is 512", "k = 256", "as 256"}},
      {"int32", with([](O& o) { o.element = Element::kS32; }), {"int32", "int8"}},
      {"no axis", with([](O& o) { o.ring.axis = 1; }), {"axis is 1", "mesh 8", "0 to 0"}},
      {"no mesh", with([](O& o) { o.ring.mesh = {}; }), {"no axes"}},
      {"an empty axis",
       with([](O& o) {
         o.ring.mesh = {8, 0};
       }),
       {"mesh 8x0"}},
      {"no collective id", with([](O& o) { o.collective_id = -1; }), {"collective_id is -1"}},
      {"more semaphores than there are",
       with([](O& o) {
         o.ring = {{128}, 0}, o.m = 2 * 8 * 128, o.n = 128 * 128;
       }),
       {"512 semaphores", "128 devices", "489"}},
  };
  return kRefusals;
}

TEST(Reference, RefusesWithTheValuesAndWhatWouldBeRight) {
  for (const Refusal& refusal : refusals()) {
    const Chip chip = chip_of_generation(refusal.generation);
    const std::string text = why_not_reference(refusal.options, chip);
    EXPECT_FALSE(text.empty()) << refusal.what;
    for (const char* word : refusal.words) {
      EXPECT_NE(text.find(word), std::string::npos) << refusal.what << ": " << text;
    }
    EXPECT_EQ(cmm::test::text_of_error([&] { reference_kernel(refusal.options, chip); }), text);
  }
}

TEST(Reference, RefusesATypeThatTheChipDoesNotMultiply) {
  Chip chip = chip_of_generation(5);
  chip.mxu_rate[static_cast<std::size_t>(Element::kF8E4M3)] = 0;
  ReferenceOptions options = small();
  options.m = 2 * 32 * 4;
  options.element = Element::kF8E4M3;
  EXPECT_EQ(why_not_reference(options, chip), "generation 5 does not multiply fp8");
}

// What the messages recommend is taken.
TEST(Reference, TakesWhatItRecommends) {
  const Chip chip = chip_of_generation(6);
  ReferenceOptions options = small(8);
  for (const std::int64_t m : {128, 896, 1024}) {
    options.m = m;
    EXPECT_EQ(why_not_reference(options, chip), "");
  }
  options.n = 8 * 640;
  options.bn = 640;
  EXPECT_EQ(why_not_reference(options, chip), "");
  options.ring = {{2, 8}, 1};
  EXPECT_EQ(why_not_reference(options, chip), "");
}

// One and two blocks in n and in k, and rings of every kind of length.
TEST(Reference, IsRight) {
  const Chip chip = chip_of_generation(6);
  for (int num_devices = 2; num_devices <= 5; ++num_devices) {
    for (const std::int64_t bn : {128, 256}) {
      for (const std::int64_t bk : {128, 256}) {
        SCOPED_TRACE(testing::Message() << num_devices << " devices, bn " << bn << ", bk " << bk);
        ReferenceOptions options = small(num_devices);
        options.bn = bn;
        options.bk = bk;
        test::expect_right(reference_kernel(options, chip), chip, {.num_interleavings = 4});
      }
    }
  }
}

TEST(Reference, IsRightWithThreeBlocks) {
  const Chip chip = chip_of_generation(6);
  ReferenceOptions options = small(3);
  options.k = 384;
  options.n = 384 * 3;
  test::expect_right(reference_kernel(options, chip), chip, {.num_interleavings = 4});
}

TEST(Reference, IsRightInEveryTypeAndForm) {
  for (const int generation : {4, 5, 6, 7}) {
    for (const Element element : {Element::kF32, Element::kBF16, Element::kF8E4M3, Element::kS8}) {
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(testing::Message() << "generation " << generation << ", "
                                        << element_name(element) << ", transposed " << transposed);
        ReferenceOptions options = small(3);
        options.element = element;
        options.m = 2 * 3 * sublane_rows(generation, element);
        options.rhs_transposed = transposed;
        options.bk = transposed ? 256 : 128;
        const Chip chip = chip_of_generation(generation);
        test::expect_right(reference_kernel(options, chip), chip, {.num_interleavings = 1});
      }
    }
  }
}

TEST(Reference, IsRightAlongEitherAxisOfAMesh) {
  const Chip chip = chip_of_generation(6);
  for (const int axis : {0, 1}) {
    ReferenceOptions options = small(axis == 0 ? 2 : 4);
    options.ring = {{2, 4}, axis};
    test::expect_right(reference_kernel(options, chip), chip, {.num_interleavings = 2});
  }
}

TEST(Reference, PrintsEachPhaseOnEveryDevice) {
  const Chip chip = chip_of_generation(6);
  ReferenceOptions options = small(2);
  options.debug = true;
  const Kernel kernel = reference_kernel(options, chip);
  const RunResult result = run(kernel.program, chip, Expectation(kernel, 1).inputs(kernel), {});
  ASSERT_FALSE(result.fault);
  for (const char* line :
       {"device 0: step 0 of the ring, block 0 of n, 0 of k: start_first_remote_copy",
        "device 1: step 0 of the ring, block 0 of n, 1 of k: multiply",
        "device 1: step 2 of the ring, block 1 of n, 0 of k: wait_local_out_copy"}) {
    EXPECT_TRUE(std::ranges::count(result.printed, line) == 1) << line;
  }
}

}  // namespace
}  // namespace cmm::tpu
