#include "tpu/emit/stablehlo.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tpu/emit/small_kernels.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu::emit {
namespace {

using test::chip_of_generation;
using test::options_of;
using test::small_case;
using test::WavefrontCase;

std::string module_of(const Kernel& kernel, Wrapper wrapper) {
  return stablehlo_module(kernel, "{}", {.wrapper = wrapper});
}
// m, k, columns of a device, on a ring of 4 that is the second axis of a mesh where `data` > 1.
Kernel wavefront(Extents asked, int data = 1, bool rhs_transposed = false) {
  const Ring ring = data > 1 ? Ring{{data, 4}, 1} : Ring{{4}, 0};
  WavefrontOptions options = options_of(ring, std::move(asked));
  options.rhs_transposed = rhs_transposed;
  const WavefrontCase c = small_case("case", std::move(options));
  return wavefront_kernel(cmm::test::simple_schedule(c.shape), c.options, chip_of_generation(6));
}

void expect_has(const std::string& module, const std::string& what) {
  EXPECT_NE(module.find(what), std::string::npos) << what << "\nis not in\n" << module;
}
void expect_has_not(const std::string& module, const std::string& what) {
  EXPECT_EQ(module.find(what), std::string::npos) << what << "\nis in\n" << module;
}

TEST(Stablehlo, ShardsWholeMatricesOverTheAxis) {
  const std::string module = module_of(wavefront({64, 128, {128}}), Wrapper::kSdy);
  expect_has(module, "mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32");
  expect_has(module, "sdy.mesh @mesh = <[\"x\"=4]>");
  expect_has(module,
             "@main(%x: tensor<64x128xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, "
             "%y: tensor<128x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> "
             "(tensor<64x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>})");
  expect_has(module, "%x_part: tensor<16x128xbf16>, %y_part: tensor<128x128xbf16>");
  expect_has_not(module, "stablehlo.pad");
  expect_has_not(module, "stablehlo.slice");
}

TEST(Stablehlo, ReplicasHaveMatricesOfOneDevice) {
  const std::string module = module_of(wavefront({64, 128, {128}}), Wrapper::kReplica);
  expect_has(module, "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32");
  expect_has(module,
             "@main(%x: tensor<16x128xbf16>, %y: tensor<128x128xbf16>) -> "
             "(tensor<64x128xbf16>)");
}

TEST(Stablehlo, OtherAxesOfTheMeshHoldCopies) {
  const Kernel kernel = wavefront({64, 128, {128}}, 2);
  const std::string sdy = module_of(kernel, Wrapper::kSdy);
  expect_has(sdy, "mhlo.num_partitions = 8 : i32");
  expect_has(sdy, "sdy.mesh @mesh = <[\"a0\"=2, \"x\"=4]>");
  expect_has(sdy, "manual_axes={\"a0\", \"x\"}");
  const std::string gspmd = module_of(kernel, Wrapper::kGspmd);
  expect_has(gspmd,
             "%x: tensor<64x128xbf16> {mhlo.sharding = "
             "\"{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}\"}");
  expect_has(gspmd,
             "%y: tensor<128x512xbf16> {mhlo.sharding = "
             "\"{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}\"}");
}

TEST(Stablehlo, TransposedRightSidesAreSplitByRows) {
  const Kernel kernel = wavefront({64, 128, {128}}, 1, true);
  expect_has(module_of(kernel, Wrapper::kSdy),
             "%y: tensor<512x128xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}");
  expect_has(module_of(kernel, Wrapper::kGspmd),
             "%y: tensor<512x128xbf16> {mhlo.sharding = \"{devices=[4,1]<=[4]}\"}");
}

// Rows beyond m, columns beyond k and n are zeros for the kernel, and are cut from what it gives.
TEST(Stablehlo, PadsAndCutsRaggedExtents) {
  const Kernel kernel = wavefront({50, 100, {90}});
  ASSERT_EQ(kernel.rows_asked, 13);
  ASSERT_EQ(kernel.shard_rows, 16);
  const std::string module = module_of(kernel, Wrapper::kSdy);
  expect_has(module, "@main(%x: tensor<50x100xbf16>");
  expect_has(module, "stablehlo.pad %x, ");
  expect_has(module,
             "low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<50x100xbf16>, "
             "tensor<bf16>) -> tensor<52x100xbf16>");
  expect_has(module,
             "high = [3, 28], interior = [0, 0] : (tensor<13x100xbf16>, tensor<bf16>) -> "
             "tensor<16x128xbf16>");
  expect_has(module,
             "high = [28, 38], interior = [0, 0] : (tensor<100x90xbf16>, tensor<bf16>) -> "
             "tensor<128x128xbf16>");
  expect_has(module, "[0:64, 0:90] : (tensor<64x128xbf16>) -> tensor<64x90xbf16>");
  expect_has(module, "(tensor<64x90xbf16>) -> tensor<4x16x90xbf16>");
  expect_has(module, "[0:4, 0:13, 0:90] : (tensor<4x16x90xbf16>) -> tensor<4x13x90xbf16>");
  expect_has(module, "[0:50, 0:90] : (tensor<52x90xbf16>) -> tensor<50x90xbf16>");
}

TEST(Stablehlo, TheTableIsAConstantAndTheFirstOperand) {
  const Kernel kernel = wavefront({64, 128, {128}});
  ASSERT_GT(kernel.table.size(), 2u);
  const std::string module = module_of(kernel, Wrapper::kReplica);
  expect_has(module, "%0 = stablehlo.constant dense<[" + std::to_string(kernel.table[0]) + ", " +
                         std::to_string(kernel.table[1]) + ", ");
  expect_has(module, "@tpu_custom_call(%0, %x, %y)");
  expect_has(module,
             "operand_layouts = [dense<[0]> : tensor<1xindex>, dense<[1, 0]> : "
             "tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]");
}

// Of the reference kernel the first result only: the second is its scratch.
TEST(Stablehlo, GivesTheResultsThatWereAskedFor) {
  const auto small = test::small_kernels();
  const std::string reference = module_of(small[0].kernel, Wrapper::kReplica);
  expect_has(reference, "%0:2 = stablehlo.custom_call");
  expect_has(reference, "return %0#0 : tensor<32x128xbf16>");
  const std::string gathered = module_of(small[3].kernel, Wrapper::kSdy);
  expect_has(gathered,
             "-> (tensor<60x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}"
             ", tensor<60x200xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}"
             ", tensor<60x250xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})");
  expect_has(module_of(small[3].kernel, Wrapper::kGspmd),
             "tensor<60x250xbf16> {mhlo.sharding = \"{replicated}\"}");
}

TEST(Stablehlo, EscapesTheConfiguration) {
  const auto small = test::small_kernels();
  expect_has(stablehlo_module(small[0].kernel, "{\"a\\n\": 1}", {}),
             "backend_config = \"{\\22a\\5Cn\\22: 1}\"");
}

}  // namespace
}  // namespace cmm::tpu::emit
