#include "tpu/kernels/kernel.hpp"

#include <functional>
#include <numeric>

namespace cmm::tpu {
namespace {

int product(std::vector<int>::const_iterator begin, std::vector<int>::const_iterator end) {
  return std::accumulate(begin, end, 1, std::multiplies<>());
}

void signal_neighbours(Builder& builder, const RingPosition& position, int semaphore) {
  for (const Scalar neighbour : {position.forward, position.backward}) {
    builder.signal(
        {.semaphore = {.array = semaphore}, .amount = builder.constant(1), .device = neighbour});
  }
}

void await_neighbours(Builder& builder, int semaphore) {
  builder.await({.semaphore = {.array = semaphore}, .amount = builder.constant(2)});
}

}  // namespace

int Ring::num_devices() const { return product(mesh.begin(), mesh.end()); }
int Ring::stride() const { return product(mesh.begin() + axis + 1, mesh.end()); }

RingPosition ring_position(Builder& builder, const Ring& ring) {
  const int size = ring.size(), stride = ring.stride();
  const Scalar id = builder.device_id();
  Scalar index = builder.div(id, builder.constant(stride));
  // On the first axis the quotient is below P by itself.
  if (size * stride != ring.num_devices()) index = builder.rem(index, builder.constant(size));

  // The number of the ring's device 0.
  const Scalar origin = size == ring.num_devices()
                            ? builder.constant(0)
                            : builder.sub(id, builder.mul(index, builder.constant(stride)));
  const auto device_at = [&](int distance) {
    const Scalar other =
        builder.rem(builder.add(index, builder.constant(distance)), builder.constant(size));
    return builder.add(origin, builder.mul(other, builder.constant(stride)));
  };
  return {.index = index, .forward = device_at(1), .backward = device_at(size - 1)};
}

void announce_entry(Builder& builder, const RingPosition& position, int barrier) {
  builder.note("entry: tells both neighbours that this device has entered",
               [&] { signal_neighbours(builder, position, barrier); });
}

void await_entry(Builder& builder, const RingPosition& position, int barrier, int second_round) {
  builder.note("entry: both neighbours have entered", [&] { await_neighbours(builder, barrier); });
  builder.note("entry, second round: tells both neighbours that this device has seen them",
               [&] { signal_neighbours(builder, position, second_round); });
  builder.note("entry, second round: both neighbours have seen their neighbours",
               [&] { await_neighbours(builder, second_round); });
}

}  // namespace cmm::tpu
