// Small programs and runs of them, for tests of virtual devices.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tpu/builder.hpp"
#include "tpu/interpret/interpret.hpp"

namespace cmm::tpu {

inline Chip v6e() {
  Chip chip;
  chip.name = "v6e";
  chip.generation = 6;
  return chip;
}

template <class T>
Array array_of(const std::vector<T>& values) {
  Array array(values.size() * sizeof(T));
  std::memcpy(array.data(), values.data(), array.size());
  return array;
}
template <class T>
std::vector<T> values_of(const Array& array) {
  std::vector<T> values(array.size() / sizeof(T));
  std::memcpy(values.data(), array.data(), array.size());
  return values;
}

// Shorthands on top of Builder.
class Writer : public Builder {
 public:
  explicit Writer(int num_devices = 1) : Builder("test") { program().num_devices = num_devices; }

  int hbm_input(std::vector<std::int64_t> shape, Element element = Element::kF32) {
    return buffer({"x", Memory::kHbm, element, std::move(shape), Role::kInput});
  }
  int hbm_output(std::vector<std::int64_t> shape, Element element = Element::kF32) {
    return buffer({"out", Memory::kHbm, element, std::move(shape), Role::kOutput});
  }
  int vmem(std::vector<std::int64_t> shape, Element element = Element::kF32) {
    return buffer({"slot", Memory::kVmem, element, std::move(shape), Role::kScratch});
  }
  int dma(std::string name, std::vector<std::int64_t> shape = {}) {
    return semaphore({std::move(name), SemaphoreKind::kDma, std::move(shape)});
  }
  int regular(std::string name, std::vector<std::int64_t> shape = {}) {
    return semaphore({std::move(name), SemaphoreKind::kRegular, std::move(shape)});
  }
  int barrier() {
    program().collective_id = 7;
    return semaphore({"barrier", SemaphoreKind::kBarrier, {}});
  }

  Scalar c(std::int64_t value) { return constant(value); }
  // All of a buffer.
  Slice whole(int number) {
    const Buffer& of = program().buffers[static_cast<std::size_t>(number)];
    return {number, std::vector<Scalar>(of.shape.size(), c(0)), of.shape, 0};
  }
  // Rows of a buffer of two dimensions.
  Slice rows(int number, Scalar begin, std::int64_t count) {
    const Buffer& of = program().buffers[static_cast<std::size_t>(number)];
    return {number, {begin, c(0)}, {count, of.shape[1]}, 0};
  }
  void start_local(const Slice& source, const Slice& target, const SemaphoreRef& semaphore) {
    start_copy({.source = source, .target = target, .arrival = semaphore});
  }
  void await_local(const Slice& source, const Slice& target, const SemaphoreRef& semaphore) {
    await_copy({.side = AwaitCopy::Side::kLocal,
                .semaphore = semaphore,
                .source = source,
                .target = target});
  }
  void copy(const Slice& source, const Slice& target, int semaphore) {
    start_local(source, target, {semaphore, {}});
    await_local(source, target, {semaphore, {}});
  }
  void send(const Slice& source, const Slice& target, Scalar device, const SemaphoreRef& departure,
            const SemaphoreRef& arrival) {
    start_copy({.source = source,
                .target = target,
                .arrival = arrival,
                .remote = StartCopy::Remote{.device = device, .departure = departure}});
  }
  void await_departure(const Slice& source, const SemaphoreRef& semaphore) {
    await_copy({.side = AwaitCopy::Side::kDeparture,
                .semaphore = semaphore,
                .source = source,
                .target = source});
  }
  void await_arrival(const Slice& target, const SemaphoreRef& semaphore) {
    await_copy({.side = AwaitCopy::Side::kArrival,
                .semaphore = semaphore,
                .source = target,
                .target = target});
  }
  void signal_to(int semaphore, Scalar device, std::int64_t amount = 1) {
    signal({.semaphore = {semaphore, {}}, .amount = c(amount), .device = device});
  }
  void await_count(int semaphore, std::int64_t amount) {
    await({.semaphore = {semaphore, {}}, .amount = c(amount)});
  }
};

// x [8, 128] of each device, f32: `device * 1000 + element` where there are no others.
inline std::vector<std::vector<Array>> numbered_inputs(const Program& program) {
  std::vector<std::vector<Array>> inputs(static_cast<std::size_t>(program.num_devices));
  for (std::size_t device = 0; device < inputs.size(); ++device) {
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role != Role::kInput) continue;
      std::int64_t count = 1;
      for (const std::int64_t extent : buffer.shape) count *= extent;
      std::vector<float> values;
      for (std::int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<float>(static_cast<std::int64_t>(device) * 10000 + i));
      }
      inputs[device].push_back(array_of(values));
    }
  }
  return inputs;
}

inline std::string fault_text(const RunResult& result) {
  if (!result.fault) return "no fault";
  return std::string(fault_name(result.fault->kind)) + ", device " +
         std::to_string(result.fault->device) + ": " + result.fault->text;
}

inline constexpr CopyMode kCopyModes[] = {CopyMode::kEager, CopyMode::kAtAwait, CopyMode::kRandom};

}  // namespace cmm::tpu
