#include "tpu/shapes.hpp"

#include "base/integers.hpp"

namespace cmm::tpu {

std::int64_t num_elements(std::span<const std::int64_t> shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::vector<std::int64_t> squeezed_shape(const Slice& slice) {
  return {slice.sizes.begin() + slice.num_squeezed, slice.sizes.end()};
}

std::int64_t slice_bytes(const Program& program, const Slice& slice) {
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(slice.buffer)];
  return num_elements(slice.sizes) * element_bytes(buffer.element);
}

int tile_along(const Buffer& buffer, int dimension, const Chip& chip) {
  const int from_last = static_cast<int>(buffer.shape.size()) - 1 - dimension;
  if (buffer.memory == Memory::kSmem || from_last > 1) return 1;
  return from_last == 0 ? kLanes : sublane_rows(chip.generation, buffer.element);
}

std::int64_t padded_bytes(const Buffer& buffer, const Chip& chip) {
  const int rank = static_cast<int>(buffer.shape.size());
  std::int64_t elements = 1;
  for (int dimension = 0; dimension < rank; ++dimension) {
    const std::int64_t extent = buffer.shape[static_cast<std::size_t>(dimension)];
    elements *= round_up(extent, tile_along(buffer, dimension, chip));
  }
  // A buffer of one dimension is one row, and takes up the other rows of its tiles.
  if (rank == 1 && buffer.memory != Memory::kSmem) {
    elements *= sublane_rows(chip.generation, buffer.element);
  }
  return elements * element_bytes(buffer.element);
}

}  // namespace cmm::tpu
