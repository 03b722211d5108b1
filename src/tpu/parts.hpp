// Where one device of a ring has its part of a matrix: of the operands x and y, of the results. A
// device's matrix is padded to whole tiles; the whole one has the extents that were asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/integers.hpp"
#include "tpu/interpret/interpret.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

struct Extent {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
std::size_t matrix_bytes(Extent extent, Element element);

// The box of `size` at (row, 0) of `padded`, a device's matrix, and at (whole_row, whole_col) of
// `whole`. Matrices are row-major.
struct Part {
  Extent padded;
  std::int64_t row = 0;
  Extent whole;
  std::int64_t whole_row = 0, whole_col = 0;
  Extent size;
};
// `index` is the device's on the ring; `owner` the one whose rows of x they are.
Part part_of_x(const Kernel& kernel, int index);
Part part_of_y(const Kernel& kernel, int index, std::size_t right_side);
Part part_of_out(const Kernel& kernel, int index, std::size_t right_side, int owner);
Part part_of_gathered(const Kernel& kernel, int owner);

// Both matrices have the sizes that the part says.
void copy_to_device(const Part& part, Element element, const Array& whole, Array& padded);
void copy_from_device(const Part& part, Element element, const Array& padded, Array& whole);

// The first element of the part in which the two differ, counted in the whole matrix.
struct ElementAt {
  std::int64_t row = 0, col = 0;
  const std::byte* padded = nullptr;
  const std::byte* whole = nullptr;
};
std::optional<ElementAt> first_difference(const Part& part, Element element, const Array& padded,
                                          const Array& whole);

}  // namespace cmm::tpu
