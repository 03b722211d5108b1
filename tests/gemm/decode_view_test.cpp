// Few rows times views of y have the bits of packed weights, whatever y's strides and the columns
// of a call, and read nothing but y.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "gemm/isa_param.hpp"
#include "gemm/product.hpp"
#include "gemm/strided_y.hpp"
#include "support/oracle.hpp"

namespace cmm::test {
namespace {

class DecodeViews : public IsaTest {};

// x times y in calls of `panels` panels; y twice, as gate and up, under SwiGLU.
struct Run {
  Isa isa = Isa::kPortable;
  std::int64_t m = 1;
  std::int64_t panels = 1;
  bool swiglu = false;
};

enum class Given { kPacked, kView, kMixed };

// [m, n] f32 bits.
std::vector<std::uint32_t> product_of(const Run& run, const StridedY& y, Given given) {
  const gemm::Kernels& kernels = gemm::kernels(run.isa);
  const DType dtype = y.ref.dtype;
  const std::int64_t k = y.ref.rows, n = y.ref.cols;
  Stored x(random_values(run.m, k, dtype, 3), dtype, k, Flush::kEnd);
  GuardedBuffer packed_x(static_cast<std::size_t>(gemm::packed_bytes(kernels, dtype, run.m, k)),
                         Flush::kEnd);
  gemm::pack_decode({.kernels = &kernels,
                     .x = x.ref(),
                     .m = run.m,
                     .steps = {0, gemm::num_steps(kernels, dtype, k)},
                     .packed = packed_x.data()});
  const gemm::Panels panels(y.ref);
  Stored out(Values(run.m, n, std::numeric_limits<float>::quiet_NaN()), DType::kF32, n,
             Flush::kEnd);
  std::vector<gemm::Side> sides;
  for (int s = 0; s < (run.swiglu ? 2 : 1); ++s) {
    const bool view = given == Given::kView || (given == Given::kMixed && s == 0);
    sides.push_back({.y = view ? nullptr : &panels,
                     .view = view ? &y.ref : nullptr,
                     .out = out.writable_ref()});
  }
  const gemm::Product product = {
      .kernels = &kernels, .dtype = dtype, .k = k, .sides = sides, .swiglu = run.swiglu};
  gemm::Workspace workspace;
  for (std::int64_t p = 0; p < sides[0].num_panels(); p += run.panels) {
    gemm::multiply_decode(product, packed_x.data(), run.m,
                          {0, p, std::min(p + run.panels, sides[0].num_panels())}, workspace);
  }
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < run.m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) bits.push_back(load_bits(DType::kF32, out.element(i, j)));
  }
  return bits;
}

void expect_bits_of_packed(const Run& run, const StridedY& y) {
  const std::vector<std::uint32_t> packed = product_of(run, y, Given::kPacked);
  EXPECT_EQ(product_of(run, y, Given::kView), packed);
  if (!run.swiglu) return;
  EXPECT_EQ(product_of(run, y, Given::kMixed), packed);
}

TEST_P(DecodeViews, HaveTheBitsOfPackedWeights) {
  for (DType dtype : kDTypes) {
    for (Layout layout : kLayouts) {
      for (std::int64_t n : {1, 31, 32, 67, 131, 160}) {
        for (std::int64_t k : {1, 2, 15, 33, 64, 97}) {
          const StridedY y =
              StridedY::make(dtype, layout, k, n, k % 2 == 0 ? Flush::kStart : Flush::kEnd);
          for (std::int64_t m = 1; m <= gemm::kMaxDecodeViewRows; ++m) {
            SCOPED_TRACE(testing::Message()
                         << dtype_name(dtype) << " layout " << static_cast<int>(layout)
                         << " m=" << m << " k=" << k << " n=" << n);
            expect_bits_of_packed(
                {.isa = GetParam(), .m = m, .panels = m % 2 == 0 ? 3 : 100, .swiglu = m == 4}, y);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// Several blocks of k, the last of them short, and more columns than are multiplied at a time.
TEST_P(DecodeViews, GoThroughYInBlocks) {
  for (DType dtype : kDTypes) {
    for (Layout layout : {Layout::kRowMajor, Layout::kColumnMajor}) {
      for (std::int64_t n : {70, 2100}) {
        const StridedY y = StridedY::make(dtype, layout, n == 70 ? 513 : 37, n, Flush::kEnd);
        for (std::int64_t m : {1, 7}) {
          SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " layout "
                                          << static_cast<int>(layout) << " m=" << m << " n=" << n);
          expect_bits_of_packed({.isa = GetParam(), .m = m, .panels = 100}, y);
        }
      }
    }
  }
}

// Padding takes no part: 0 * infinity would be a NaN.
TEST_P(DecodeViews, InfinitiesAtTheEndOfAnOddK) {
  for (DType dtype : kDTypes) {
    for (Layout layout : kLayouts) {
      StridedY y = StridedY::make(dtype, layout, 35, 40, Flush::kEnd);
      const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
      for (std::int64_t j = 0; j < 40; j += 3) {
        const std::int64_t at = (34 * y.ref.row_stride + j * y.ref.col_stride) * bytes;
        const auto* element = static_cast<const std::byte*>(y.ref.data) + at;
        store_value(dtype, std::numeric_limits<float>::infinity(),
                    y.buffer.data() + (element - y.buffer.data()));
      }
      for (std::int64_t m : {1, 8}) {
        SCOPED_TRACE(testing::Message()
                     << dtype_name(dtype) << " layout " << static_cast<int>(layout) << " m=" << m);
        expect_bits_of_packed({.isa = GetParam(), .m = m, .panels = 100}, y);
      }
    }
  }
}

TEST_P(DecodeViews, WithoutKAreZero) {
  const StridedY y = StridedY::make(DType::kF32, Layout::kRowMajor, 0, 40, Flush::kEnd);
  EXPECT_EQ(product_of({.isa = GetParam(), .m = 2, .panels = 100}, y, Given::kView),
            std::vector<std::uint32_t>(80, 0));
}

INSTANTIATE_ISA_TESTS(DecodeViews);

}  // namespace
}  // namespace cmm::test
