#include "tpu/parts.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace cmm::tpu {
namespace {

// Rows of x that the device at `index` holds; the last devices hold fewer, or none.
Range rows_at(const Kernel& kernel, int index) {
  const std::int64_t begin = std::min(kernel.asked.m, index * kernel.rows_asked);
  return {begin, std::min(kernel.asked.m, begin + kernel.rows_asked)};
}

Extent stored_y(const Kernel& kernel, std::int64_t k, std::int64_t cols) {
  return kernel.rhs_transposed ? Extent{cols, k} : Extent{k, cols};
}

// Byte offsets of row `i` of the part.
struct RowAt {
  std::int64_t padded, whole, bytes;
};
RowAt row_at(const Part& part, Element element, std::int64_t i) {
  const std::int64_t bytes = element_bytes(element);
  return {.padded = (part.row + i) * part.padded.cols * bytes,
          .whole = ((part.whole_row + i) * part.whole.cols + part.whole_col) * bytes,
          .bytes = part.size.cols * bytes};
}

}  // namespace

std::size_t matrix_bytes(Extent extent, Element element) {
  return static_cast<std::size_t>(extent.rows * extent.cols * element_bytes(element));
}

Part part_of_x(const Kernel& kernel, int index) {
  const Range rows = rows_at(kernel, index);
  return {.padded = {kernel.shard_rows, kernel.padded.k},
          .whole = {kernel.asked.m, kernel.asked.k},
          .whole_row = rows.begin,
          .size = {rows.size(), kernel.asked.k}};
}

Part part_of_y(const Kernel& kernel, int index, std::size_t right_side) {
  const std::int64_t cols = kernel.asked.cols[right_side];
  const std::int64_t before = cols * index;
  return {.padded = stored_y(kernel, kernel.padded.k, kernel.padded.cols[right_side]),
          .whole = stored_y(kernel, kernel.asked.k, cols * kernel.ring.size()),
          .whole_row = kernel.rhs_transposed ? before : 0,
          .whole_col = kernel.rhs_transposed ? 0 : before,
          .size = stored_y(kernel, kernel.asked.k, cols)};
}

Part part_of_out(const Kernel& kernel, int index, std::size_t right_side, int owner) {
  const std::int64_t cols = kernel.asked.cols[right_side];
  const Range rows = rows_at(kernel, owner);
  return {.padded = {kernel.ring.size() * kernel.shard_rows, kernel.padded.cols[right_side]},
          .row = owner * kernel.shard_rows,
          .whole = {kernel.asked.m, cols * kernel.ring.size()},
          .whole_row = rows.begin,
          .whole_col = cols * index,
          .size = {rows.size(), cols}};
}

Part part_of_gathered(const Kernel& kernel, int owner) {
  const Range rows = rows_at(kernel, owner);
  return {.padded = {kernel.ring.size() * kernel.shard_rows, kernel.padded.k},
          .row = owner * kernel.shard_rows,
          .whole = {kernel.asked.m, kernel.asked.k},
          .whole_row = rows.begin,
          .size = {rows.size(), kernel.asked.k}};
}

void copy_to_device(const Part& part, Element element, const Array& whole, Array& padded) {
  CMM_DCHECK(padded.size() == matrix_bytes(part.padded, element));
  CMM_DCHECK(whole.size() == matrix_bytes(part.whole, element));
  for (std::int64_t i = 0; i < part.size.rows; ++i) {
    const RowAt at = row_at(part, element, i);
    std::copy_n(whole.data() + at.whole, at.bytes, padded.data() + at.padded);
  }
}

void copy_from_device(const Part& part, Element element, const Array& padded, Array& whole) {
  CMM_DCHECK(padded.size() == matrix_bytes(part.padded, element));
  CMM_DCHECK(whole.size() == matrix_bytes(part.whole, element));
  for (std::int64_t i = 0; i < part.size.rows; ++i) {
    const RowAt at = row_at(part, element, i);
    std::copy_n(padded.data() + at.padded, at.bytes, whole.data() + at.whole);
  }
}

std::optional<ElementAt> first_difference(const Part& part, Element element, const Array& padded,
                                          const Array& whole) {
  CMM_DCHECK(padded.size() == matrix_bytes(part.padded, element));
  CMM_DCHECK(whole.size() == matrix_bytes(part.whole, element));
  const auto bytes = static_cast<std::int64_t>(element_bytes(element));
  for (std::int64_t i = 0; i < part.size.rows; ++i) {
    const RowAt at = row_at(part, element, i);
    const std::byte* got = padded.data() + at.padded;
    const std::byte* right = whole.data() + at.whole;
    const auto [differs, beside] = std::mismatch(got, got + at.bytes, right);
    if (differs == got + at.bytes) continue;
    const std::int64_t col = (differs - got) / bytes;
    return ElementAt{.row = part.whole_row + i,
                     .col = part.whole_col + col,
                     .padded = got + col * bytes,
                     .whole = right + col * bytes};
  }
  return std::nullopt;
}

}  // namespace cmm::tpu
