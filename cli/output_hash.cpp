#include "output_hash.hpp"

#include <bit>
#include <cstring>

namespace cmm::cli {
namespace {

// A bijection of 64 bits, each of which depends on all.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
  return z ^ (z >> 32);
}
std::uint64_t joined(std::uint64_t hash, std::uint64_t word) { return mixed(hash ^ word) + word; }

// Column and bits are one word, different for all pairs in 2^32 columns. The sums of different
// elements do not wait for each other: 15 million elements take some 20 ms.
template <class Bits>
std::uint64_t row_part(std::uint64_t row_key, const OutputSlice& slice, std::int64_t row) {
  const char* p = static_cast<const char*>(slice.out.data) +
                  row * slice.out.row_stride * std::int64_t{sizeof(Bits)};
  std::uint64_t sum = 0;
  for (std::int64_t j = 0; j < slice.out.cols; ++j, p += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, p, sizeof bits);
    const auto col = static_cast<std::uint64_t>(slice.first_col + j);
    sum += mixed(row_key ^ std::rotl(col, 32) ^ bits);
  }
  return sum;
}

}  // namespace

std::uint64_t hash_part(int side, const OutputSlice& slice) {
  const ConstMatrixRef& out = slice.out;
  const std::uint64_t side_key = mixed(0x243f6a8885a308d3u + static_cast<std::uint64_t>(side));
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const std::uint64_t row_key = joined(side_key, static_cast<std::uint64_t>(i));
    sum += dtype_bytes(out.dtype) == 4 ? row_part<std::uint32_t>(row_key, slice, i)
                                       : row_part<std::uint16_t>(row_key, slice, i);
  }
  return sum;
}

std::uint64_t output_hash(const OutputExtents& extents, std::uint64_t sum_of_parts) {
  std::uint64_t hash = joined(0x9fb21c651e98df25u, static_cast<std::uint64_t>(extents.m));
  hash = joined(hash, static_cast<std::uint64_t>(extents.n));
  hash = joined(hash, static_cast<std::uint64_t>(extents.dtype));
  hash = joined(hash, static_cast<std::uint64_t>(extents.num_sides));
  return joined(hash, sum_of_parts);
}

}  // namespace cmm::cli
