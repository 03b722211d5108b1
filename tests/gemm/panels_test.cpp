// Panels hold y, whatever its strides, and packing reads nothing but y.
#include "gemm/panels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cmm/error.hpp"
#include "gemm/isa_param.hpp"
#include "gemm/kernels.hpp"
#include "gemm/strided_y.hpp"

namespace cmm::test {
namespace {

using gemm::Panels;

// Element (p, j) of y as the layouts of kernels.hpp place it.
std::uint32_t panel_element(const Panels& panels, std::int64_t p, std::int64_t j) {
  const std::byte* panel = panels.panel(j / 32);
  const std::int64_t column = j % 32;
  switch (panels.dtype()) {
    case DType::kF32:
      return load_bits(DType::kF32, panel + p * 128 + column * 4);
    case DType::kBF16:
      return load_bits(DType::kBF16, panel + p / 2 * 128 + column * 4 + p % 2 * 2);
    case DType::kF16:
      return load_bits(DType::kF16, panel + p * 64 + column * 2);
  }
  return 0;
}

TEST(Panels, HoldEveryElementAndZerosElsewhere) {
  for (DType dtype : kDTypes) {
    for (Layout layout :
         {Layout::kRowMajor, Layout::kColumnMajor, Layout::kReversed, Layout::kBroadcast}) {
      for (std::int64_t k : {0, 1, 2, 127, 128, 129, 257}) {
        for (std::int64_t n : {0, 1, 31, 32, 33, 67}) {
          for (Flush flush : {Flush::kStart, Flush::kEnd}) {
            const StridedY y = StridedY::make(dtype, layout, k, n, flush);
            const Panels panels(y.ref);
            ASSERT_EQ(panels.k(), k);
            ASSERT_EQ(panels.n(), n);
            ASSERT_EQ(panels.num_panels(), (n + 31) / 32);
            ASSERT_EQ(panels.bytes(), panels.num_panels() * gemm::panel_bytes(dtype, k));
            const std::int64_t padded_k = dtype == DType::kBF16 ? k + k % 2 : k;
            for (std::int64_t p = 0; p < padded_k; ++p) {
              for (std::int64_t j = 0; j < panels.num_panels() * 32; ++j) {
                const std::uint32_t want = p < k && j < n ? y.element(p, j) : 0;
                ASSERT_EQ(panel_element(panels, p, j), want)
                    << dtype_name(dtype) << " layout " << static_cast<int>(layout) << " k=" << k
                    << " n=" << n << " element " << p << ", " << j;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Panels, StartOnCacheLines) {
  const StridedY y = StridedY::make(DType::kF16, Layout::kRowMajor, 3, 100, Flush::kEnd);
  const Panels panels(y.ref);
  for (std::int64_t p = 0; p < panels.num_panels(); ++p) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(panels.panel(p)) % 64, 0u);
  }
}

TEST(Panels, SayWhenTheSizeOverflows) {
  EXPECT_EQ(gemm::panel_bytes(DType::kF32, std::numeric_limits<std::int64_t>::max()), -1);
  EXPECT_EQ(gemm::panel_bytes(DType::kBF16, std::numeric_limits<std::int64_t>::max()), -1);
  const std::int64_t large = std::int64_t{1} << 40;
  for (DType dtype : kDTypes) {
    try {
      Panels panels(StridedMatrixRef(nullptr, dtype, large, large, 0, 0));
      FAIL() << "2^80 elements fit nowhere";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    }
  }
}

}  // namespace
}  // namespace cmm::test
