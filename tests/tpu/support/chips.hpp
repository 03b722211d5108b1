// Chips whose figures a test can count on, whatever the data file says.
#pragma once

#include <string>

#include "cmm/tpu_chip.hpp"

namespace cmm::tpu::test {

inline Chip chip_of_generation(int generation) {
  Chip chip;
  chip.name = "generation " + std::to_string(generation);
  chip.generation = generation;
  chip.vmem_bytes = std::int64_t{128} << 20;
  chip.smem_bytes = std::int64_t{1} << 20;
  chip.num_semaphores = 489;
  chip.mxu_rate = {1, 1, 1, 1, 0};
  return chip;
}

}  // namespace cmm::tpu::test
