#include "tpu/builder.hpp"

#include <gtest/gtest.h>

#include "tpu/scalars.hpp"

namespace cmm::tpu {
namespace {

TEST(Builder, NumbersEqualExpressionsAlike) {
  Builder b("k");
  const Scalar next = b.rem(b.add(b.device_id(), b.constant(1)), b.constant(4));
  EXPECT_EQ(next, b.rem(b.add(b.device_id(), b.constant(1)), b.constant(4)));
  EXPECT_EQ(b.grid_index(1), b.grid_index(1));
  EXPECT_FALSE(b.grid_index(0) == b.grid_index(1));
  EXPECT_FALSE(b.sub(b.device_id(), b.constant(1)) == b.sub(b.constant(1), b.device_id()));
}

TEST(Builder, GivesEachReadANumberOfItsOwn) {
  Builder b("k");
  const int table = b.buffer({.name = "table",
                              .memory = Memory::kSmem,
                              .element = Element::kS32,
                              .shape = {8},
                              .role = Role::kInput});
  EXPECT_FALSE(b.read(table, {b.constant(0)}) == b.read(table, {b.constant(0)}));
}

TEST(Builder, CarriesOutOperationsOnConstants) {
  Builder b("k");
  for (const ScalarOp op :
       {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kDiv, ScalarOp::kRem,
        ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe,
        ScalarOp::kAnd, ScalarOp::kOr}) {
    for (int x = 0; x < 5; ++x) {
      for (int y = 1; y < 5; ++y) {
        const std::int64_t result = *apply(op, x, y);
        EXPECT_EQ(b.op(op, b.constant(x), b.constant(y)), b.constant(result)) << x << " " << y;
      }
    }
  }
}

TEST(Builder, LeavesToTheRunWhatIsNotDefined) {
  Builder b("k");
  const Scalar quotient = b.div(b.constant(7), b.constant(0));
  EXPECT_EQ(b.program().scalars[static_cast<std::size_t>(quotient.id)].op, ScalarOp::kDiv);
  const Scalar sum = b.add(b.constant(0x7fffffff), b.constant(1));
  EXPECT_EQ(b.program().scalars[static_cast<std::size_t>(sum.id)].op, ScalarOp::kAdd);
}

// What is left out must be what the operation yields, for every value of the other operand.
TEST(Builder, LeavesOutOperationsThatChangeNothing) {
  Builder b("k");
  const Scalar x = b.device_id(), zero = b.constant(0), one = b.constant(1);
  EXPECT_EQ(b.add(x, zero), x);
  EXPECT_EQ(b.add(zero, x), x);
  EXPECT_EQ(b.sub(x, zero), x);
  EXPECT_EQ(b.mul(x, one), x);
  EXPECT_EQ(b.mul(one, x), x);
  EXPECT_EQ(b.mul(x, zero), zero);
  EXPECT_EQ(b.mul(zero, x), zero);
  EXPECT_EQ(b.div(x, one), x);
  EXPECT_EQ(b.rem(x, one), zero);
  const Scalar truth = b.less(x, b.constant(2));
  EXPECT_EQ(b.both(truth, one), truth);
  EXPECT_EQ(b.both(zero, truth), zero);
  EXPECT_EQ(b.op(ScalarOp::kOr, truth, zero), truth);
  EXPECT_EQ(b.op(ScalarOp::kOr, one, truth), one);
  EXPECT_EQ(b.select(one, x, zero), x);
  EXPECT_EQ(b.select(zero, x, one), one);
  EXPECT_EQ(b.select(truth, x, x), x);
}

TEST(Builder, WritesNoIfOfAConstantCondition) {
  Builder b("k");
  b.when(b.constant(0), [&] { b.debug_print("never", {}); });
  b.when(b.constant(1), [&] { b.debug_print("always", {}); });
  b.when(b.equal(b.device_id(), b.constant(3)), [&] { b.debug_print("once", {}); });
  const Program program = b.finish();
  ASSERT_EQ(program.body.size(), 2u);
  EXPECT_EQ(std::get<DebugPrint>(program.body[0].what).text, "always");
  EXPECT_EQ(std::get<If>(program.body[1].what).then.size(), 1u);
}

TEST(Builder, KnowsTheTypesOfWhatItMakes) {
  Builder b("k");
  const int slots = b.buffer({.name = "slots",
                              .memory = Memory::kVmem,
                              .element = Element::kBF16,
                              .shape = {3, 2, 16, 128}});
  const Scalar zero = b.constant(0);
  const Vector pair = b.load({slots, {zero, zero, zero, zero}, {1, 2, 16, 128}, 1});
  const Vector rows = b.reshape(pair, {32, 128});
  const Vector y = b.zero({Element::kBF16, {256, 128}});
  const Vector product = b.matmul(rows, y, true);
  const Vector rounded = b.cast(product, Element::kBF16);
  const Vector ints =
      b.matmul(b.zero({Element::kS8, {32, 128}}), b.zero({Element::kS8, {128, 256}}), false);
  const auto type = [&](Vector v) { return b.program().vectors[static_cast<std::size_t>(v.id)]; };
  EXPECT_EQ(type(pair), (VectorType{Element::kBF16, {2, 16, 128}}));
  EXPECT_EQ(type(rows), (VectorType{Element::kBF16, {32, 128}}));
  EXPECT_EQ(type(product), (VectorType{Element::kF32, {32, 256}}));
  EXPECT_EQ(type(rounded), (VectorType{Element::kBF16, {32, 256}}));
  EXPECT_EQ(type(ints), (VectorType{Element::kS32, {32, 256}}));
}

TEST(ProgramText, HasOneLineForEachStatementAndItsNote) {
  Builder b("pass on");
  const int x = b.buffer({.name = "x",
                          .memory = Memory::kHbm,
                          .element = Element::kBF16,
                          .shape = {32, 256},
                          .role = Role::kInput});
  const int slot = b.buffer(
      {.name = "slot", .memory = Memory::kVmem, .element = Element::kBF16, .shape = {2, 16, 256}});
  const int come = b.semaphore({.name = "come", .kind = SemaphoreKind::kDma, .shape = {2}});
  const int gone = b.semaphore({.name = "gone", .kind = SemaphoreKind::kDma, .shape = {}});
  const Scalar zero = b.constant(0), one = b.constant(1), two = b.constant(2);
  const Scalar next = b.add(b.device_id(), one);
  const Scalar forward = b.rem(next, b.constant(4));
  b.program().num_devices = 4;
  b.note("send forward", [&] {
    b.loop(zero, two, [&](Scalar half) {
      const Slice source{x, {b.mul(half, b.constant(16)), zero}, {16, 256}, 0};
      const Slice target{slot, {half, zero, zero}, {1, 16, 256}, 1};
      b.start_copy({.source = source,
                    .target = target,
                    .arrival = {come, {half}},
                    .remote = StartCopy::Remote{.device = forward, .departure = {gone, {}}}});
      b.await_copy({.side = AwaitCopy::Side::kArrival,
                    .semaphore = {come, {half}},
                    .source = source,
                    .target = target});
    });
  });
  EXPECT_EQ(to_text(b.finish()),
            R"(kernel pass on, one of 4 devices
  input x: bf16 [32, 256] in hbm
  scratch slot: bf16 [2, 16, 256] in vmem
  semaphore come: dma [2]
  semaphore gone: dma []
  for s7 in 0 .. 2 (send forward)
    copy x[s7 * 16 : +16, 0 : +256] -> slot[s7, 0 : +16, 0 : +256] on device (device + 1) % 4, departure gone, arrival come[s7]
    await arrival come[s7], bytes of slot[s7, 0 : +16, 0 : +256]
)");
}

// Each of forty expressions uses the one before twice: written out, 2^40 words.
TEST(ProgramText, NamesLongExpressionsOfWhichOthersAreMade) {
  Builder b("k");
  Scalar x = b.device_id();
  for (int i = 0; i < 40; ++i) x = b.mul(b.add(x, b.constant(3)), x);
  b.debug_print("{}", {x});
  EXPECT_LT(to_text(b.finish()).size(), 10000u);
}

TEST(VmemBytes, PadsTheLastTwoDimensionsToTiles) {
  Chip v6e, v7x;
  v6e.generation = 6;
  v7x.generation = 7;
  Builder b("k");
  b.buffer({.name = "in hbm", .memory = Memory::kHbm, .shape = {64, 256}, .role = Role::kInput});
  b.buffer({.name = "words", .memory = Memory::kSmem, .element = Element::kS32, .shape = {100}});
  EXPECT_EQ(vmem_bytes(b.program(), v6e), 0);
  b.buffer({.memory = Memory::kVmem, .element = Element::kBF16, .shape = {3, 2, 12, 200}});
  EXPECT_EQ(vmem_bytes(b.program(), v6e), 3 * 2 * 16 * 256 * 2);
  b.buffer({.memory = Memory::kVmem, .element = Element::kBF16, .shape = {8, 128}});
  EXPECT_EQ(vmem_bytes(b.program(), v6e) - 3 * 2 * 16 * 256 * 2, 8 * 128 * 2);
  EXPECT_EQ(vmem_bytes(b.program(), v7x) - 3 * 2 * 16 * 256 * 2, 16 * 128 * 2);
  b.program().buffers = {{.memory = Memory::kVmem, .element = Element::kS8, .shape = {8, 128}}};
  EXPECT_EQ(vmem_bytes(b.program(), v6e), 32 * 128);
}

}  // namespace
}  // namespace cmm::tpu
