#include "tpu/aot/compile_options.hpp"

#include <cstdint>

namespace cmm::tpu::aot {
namespace {

// Numbers of fields.
constexpr int kBuildOptions = 3;  // of CompileOptionsProto
enum BuildOption {
  kNumReplicas = 4,
  kNumPartitions = 5,
  kUseSpmd = 6,
  kDeviceAssignment = 9,
  kUseShardy = 19
};
enum DeviceAssignment { kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3 };
constexpr int kReplicaDeviceIds = 1;  // of ComputationDevice

void put_varint(std::string& bytes, std::uint64_t value) {
  while (value >= 128) {
    bytes += static_cast<char>(value | 128);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}
void put_number(std::string& bytes, int field, std::uint64_t value) {
  put_varint(bytes, static_cast<std::uint64_t>(field) << 3);
  put_varint(bytes, value);
}
void put_bytes(std::string& bytes, int field, const std::string& value) {
  put_varint(bytes, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(bytes, value.size());
  bytes += value;
}

}  // namespace

std::string compile_options(emit::Wrapper wrapper, std::span<const int> assignment) {
  const bool replicas = wrapper == emit::Wrapper::kReplica;
  const std::size_t num_replicas = replicas ? assignment.size() : 1;
  const std::size_t num_partitions = replicas ? 1 : assignment.size();

  std::string devices;
  put_number(devices, kReplicaCount, num_replicas);
  put_number(devices, kComputationCount, num_partitions);
  for (std::size_t partition = 0; partition < num_partitions; ++partition) {
    std::string ids;
    for (std::size_t replica = 0; replica < num_replicas; ++replica) {
      put_varint(ids, static_cast<std::uint64_t>(assignment[replica * num_partitions + partition]));
    }
    std::string of_partition;
    put_bytes(of_partition, kReplicaDeviceIds, ids);
    put_bytes(devices, kComputationDevices, of_partition);
  }

  std::string build;
  put_number(build, kNumReplicas, num_replicas);
  put_number(build, kNumPartitions, num_partitions);
  if (!replicas) put_number(build, kUseSpmd, 1);
  put_bytes(build, kDeviceAssignment, devices);
  if (wrapper == emit::Wrapper::kSdy) put_number(build, kUseShardy, 1);

  std::string options;
  put_bytes(options, kBuildOptions, build);
  return options;
}

}  // namespace cmm::tpu::aot
