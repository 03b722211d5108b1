#include "tpu/kernels/kernel.hpp"

#include <gtest/gtest.h>

#include "tpu/scalars.hpp"

namespace cmm::tpu {
namespace {

// The value of a scalar on one device.
std::int64_t value_on(const Program& program, Scalar scalar, int device) {
  const ScalarNode& node = program.scalars[static_cast<std::size_t>(scalar.id)];
  if (node.op == ScalarOp::kConstant) return node.immediate;
  if (node.op == ScalarOp::kDeviceId) return device;
  return *apply(node.op, value_on(program, node.a, device), value_on(program, node.b, device));
}

// Numbers of devices by their coordinates, to be independent of the kernel's arithmetic.
int device_at(const Ring& ring, const std::vector<int>& coordinates) {
  int device = 0;
  for (std::size_t axis = 0; axis < ring.mesh.size(); ++axis) {
    device = device * ring.mesh[axis] + coordinates[axis];
  }
  return device;
}

TEST(RingPosition, IsThatOfTheCoordinateAlongTheAxis) {
  const std::vector<Ring> rings = {{{1}, 0},       {{2}, 0},       {{5}, 0},      {{2, 4}, 0},
                                   {{2, 4}, 1},    {{1, 3}, 0},    {{3, 1}, 0},   {{2, 3, 4}, 0},
                                   {{2, 3, 4}, 1}, {{2, 3, 4}, 2}, {{4, 1, 2}, 1}};
  for (const Ring& ring : rings) {
    Builder builder("k");
    const RingPosition position = ring_position(builder, ring);
    const auto axis = static_cast<std::size_t>(ring.axis);
    std::vector<int> at(ring.mesh.size(), 0);
    for (int device = 0; device < ring.num_devices(); ++device) {
      ASSERT_EQ(device_at(ring, at), device);
      const int size = ring.size(), index = at[axis];
      std::vector<int> ahead = at, behind = at;
      ahead[axis] = (index + 1) % size;
      behind[axis] = (index + size - 1) % size;
      EXPECT_EQ(value_on(builder.program(), position.index, device), index);
      EXPECT_EQ(value_on(builder.program(), position.forward, device), device_at(ring, ahead));
      EXPECT_EQ(value_on(builder.program(), position.backward, device), device_at(ring, behind));
      // The next device: the last coordinate runs fastest.
      for (std::size_t i = at.size(); i-- > 0;) {
        if (++at[i] < ring.mesh[i]) break;
        at[i] = 0;
      }
    }
  }
}

// Each round tells both neighbours and takes what both have told, so that it ends where it began.
TEST(Entry, SignalsBothNeighboursAndWaitsForTwoInEachRound) {
  Builder builder("k");
  const RingPosition position = ring_position(builder, {{4}, 0});
  const int barrier = builder.semaphore({.name = "barrier", .kind = SemaphoreKind::kBarrier});
  const int second = builder.semaphore({.name = "second", .kind = SemaphoreKind::kRegular});
  announce_entry(builder, position, barrier);
  await_entry(builder, position, barrier, second);
  const Program program = builder.finish();

  ASSERT_EQ(program.body.size(), 6u);
  for (std::size_t round = 0; round < 2; ++round) {
    const int semaphore = round == 0 ? barrier : second;
    for (const std::size_t i : {0, 1}) {
      const auto* signal = std::get_if<Signal>(&program.body[3 * round + i].what);
      ASSERT_NE(signal, nullptr);
      EXPECT_EQ(signal->semaphore.array, semaphore);
      EXPECT_EQ(signal->device, i == 0 ? position.forward : position.backward);
      EXPECT_EQ(value_on(program, signal->amount, 0), 1);
    }
    const auto* await = std::get_if<Await>(&program.body[3 * round + 2].what);
    ASSERT_NE(await, nullptr);
    EXPECT_EQ(await->semaphore.array, semaphore);
    EXPECT_EQ(value_on(program, await->amount, 0), 2);
  }
  for (const Statement& statement : program.body) EXPECT_GE(statement.note, 0);
}

}  // namespace
}  // namespace cmm::tpu
