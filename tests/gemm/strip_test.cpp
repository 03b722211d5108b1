// A strip holds what its place of y holds, whatever y's strides and the pieces it is packed in, and
// packing reads nothing but y and writes nothing but the strip.
#include "gemm/strip.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "gemm/isa_param.hpp"
#include "gemm/strided_y.hpp"

namespace cmm::test {
namespace {

using gemm::kPanelColumns;
using gemm::kStripBytes;
using gemm::kStripPanelBytes;
using gemm::Strip;

class Strips : public IsaTest {};

float value_of(DType dtype, std::uint32_t bits) {
  if (dtype == DType::kF32) return std::bit_cast<float>(bits);
  const auto half = static_cast<std::uint16_t>(bits);
  return dtype == DType::kBF16 ? to_float(BFloat16{half}) : to_float(Float16{half});
}

// The 4 bytes of step `step` and column `column` of the strip by the definition.
std::uint32_t step_of(const StridedY& y, const Strip::Place& place, bool pairs, std::int64_t step,
                      std::int64_t column) {
  const auto bits = [&](std::int64_t k) -> std::uint32_t {
    const std::int64_t j = place.column + column;
    return k < place.k && j < y.ref.cols ? y.element(place.k0 + k, j) : 0;
  };
  if (pairs) return bits(2 * step) | bits(2 * step + 1) << 16;
  return std::bit_cast<std::uint32_t>(value_of(y.ref.dtype, bits(step)));
}

void expect_strip(const gemm::Kernels& kernels, const StridedY& y, const Strip::Place& place,
                  std::int64_t num_pieces) {
  GuardedBuffer out(static_cast<std::size_t>(kStripBytes));
  std::memset(out.data(), 0xff, out.bytes());
  const Strip strip(kernels, y.ref, place, out.data());
  for (std::int64_t piece = num_pieces; piece-- > 0;) {
    const Range units = even_part(strip.num_units(), num_pieces, piece);
    if (units.size() > 0) strip.pack(units);
  }
  const bool pairs = kernels.type(y.ref.dtype).bf16_pairs;
  const std::int64_t steps = pairs ? ceil_div(place.k, 2) : place.k;
  for (std::int64_t panel = 0; panel < gemm::kMaxStripPanels; ++panel) {
    for (std::int64_t step = 0; step < gemm::kBlockSteps; ++step) {
      for (std::int64_t column = 0; column < kPanelColumns; ++column) {
        const std::byte* at =
            out.data() + panel * kStripPanelBytes + (step * kPanelColumns + column) * 4;
        const bool packed = panel < place.num_panels && step < steps;
        ASSERT_EQ(load_bits(DType::kF32, at),
                  packed ? step_of(y, place, pairs, step, panel * kPanelColumns + column) : ~0u)
            << "panel " << panel << " step " << step << " column " << column;
      }
    }
  }
}

TEST_P(Strips, HoldTheirPlaceOfYInAnyPieces) {
  const gemm::Kernels& kernels = gemm::kernels(GetParam());
  for (DType dtype : kDTypes) {
    const std::int64_t per_block = gemm::kBlockSteps * (kernels.type(dtype).bf16_pairs ? 2 : 1);
    for (Layout layout : kLayouts) {
      for (std::int64_t n : {1, 32, 67, 128, 131}) {
        for (std::int64_t k :
             {std::int64_t{1}, std::int64_t{2}, std::int64_t{33}, per_block - 1, per_block}) {
          for (std::int64_t k0 : {0, 2}) {
            for (Flush flush : {Flush::kStart, Flush::kEnd}) {
              const StridedY y = StridedY::make(dtype, layout, k0 + k, n, flush);
              const std::int64_t width = std::int64_t{gemm::strip_panels(dtype)} * kPanelColumns;
              for (std::int64_t column = 0; column < n; column += width) {
                const auto num_panels = static_cast<int>(
                    ceil_div(std::min(width, n - column), std::int64_t{kPanelColumns}));
                SCOPED_TRACE(testing::Message()
                             << dtype_name(dtype) << " layout " << static_cast<int>(layout)
                             << " n=" << n << " k0=" << k0 << " k=" << k << " column " << column);
                for (std::int64_t num_pieces : {1, 3}) {
                  expect_strip(kernels, y, {k0, k, column, num_panels}, num_pieces);
                  if (HasFatalFailure()) return;
                }
              }
            }
          }
        }
      }
    }
  }
}

// What a tile is asked to prefetch is what the piece will read, no byte less or more.
TEST_P(Strips, MemoryOfAPieceLiesInY) {
  const gemm::Kernels& kernels = gemm::kernels(GetParam());
  GuardedBuffer out(static_cast<std::size_t>(kStripBytes));
  for (DType dtype : kDTypes) {
    for (Layout layout : {Layout::kRowMajor, Layout::kColumnMajor}) {
      const StridedY y = StridedY::make(dtype, layout, 64, 128, Flush::kEnd);
      const int num_panels = gemm::strip_panels(dtype);
      const Strip strip(kernels, y.ref, {0, 64, 0, num_panels}, out.data());
      std::int64_t bytes = 0;
      for (std::int64_t piece = 0; piece < 4; ++piece) {
        const Strip::Memory memory = strip.memory(even_part(strip.num_units(), 4, piece));
        bytes += memory.num_runs * memory.run_bytes;
        EXPECT_GE(memory.begin, y.ref.data);
        EXPECT_LE(memory.begin + (memory.num_runs - 1) * memory.stride_bytes + memory.run_bytes,
                  y.buffer.data() + y.buffer.bytes());
      }
      EXPECT_EQ(bytes, std::int64_t{64} * num_panels * kPanelColumns *
                           static_cast<std::int64_t>(dtype_bytes(dtype)));
    }
  }
}

INSTANTIATE_ISA_TESTS(Strips);

}  // namespace
}  // namespace cmm::test
