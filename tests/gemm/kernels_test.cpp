// Every function of every kernel table against the portable table, bit for bit, on ordinary and
// special values, with all memory ending at guard pages. bf16 pairs have no portable kernel: they
// are held against a scalar model of the instruction.
#include "gemm/kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/integers.hpp"
#include "support/guard_pages.hpp"

namespace cmm::gemm {
namespace {

using test::GuardedBuffer;

enum class Values { kOrdinary, kSpecial };

// Random elements of a dtype. kSpecial: signed zeros, subnormals, infinities, NaN and the largest
// numbers among them.
class Source {
 public:
  Source(DType dtype, Values values) : dtype_(dtype), values_(values) {}

  void fill(std::byte* data, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (dtype_ == DType::kF32) {
        const float value = next_f32();
        std::memcpy(data + 4 * i, &value, 4);
      } else {
        const std::uint16_t bits = next_16();
        std::memcpy(data + 2 * i, &bits, 2);
      }
    }
  }

 private:
  float next_f32() {
    if (values_ == Values::kSpecial && random_() % 64 == 0) {
      constexpr std::uint32_t kBits[] = {0x80000000, 0,          0x7f800000, 0xff800000,
                                         0x7fc00000, 0x00000001, 0x80000001, 0x007fffff,
                                         0x7f7fffff, 0xff7fffff, 0x00800000, 0x20000000};
      return std::bit_cast<float>(kBits[random_() % std::size(kBits)]);
    }
    return std::uniform_real_distribution<float>(-1, 1)(random_);
  }
  std::uint16_t next_16() {
    if (values_ == Values::kSpecial && random_() % 64 == 0) {
      constexpr std::uint16_t kBits[] = {0x8000, 0,      0x0001, 0x8001, 0x007f, 0x03ff,
                                         0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7e00, 0x7fc0,
                                         0x7bff, 0x7f7f, 0xff7f, 0x0400, 0x0080};
      return kBits[random_() % std::size(kBits)];
    }
    const float value = next_f32();
    return dtype_ == DType::kBF16 ? to_bf16(value).bits : to_f16(value).bits;
  }

  DType dtype_;
  Values values_;
  std::mt19937 random_{12345};
};

// Equal bits, except that all NaN are alike: store makes them canonical.
testing::AssertionResult same_floats(const float* actual, const float* expected,
                                     std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = std::bit_cast<std::uint32_t>(actual[i]);
    const auto e = std::bit_cast<std::uint32_t>(expected[i]);
    if (a != e && !(std::isnan(actual[i]) && std::isnan(expected[i]))) {
      return testing::AssertionFailure()
             << "element " << i << ": " << actual[i] << ", expected " << expected[i];
    }
  }
  return testing::AssertionSuccess();
}

// vdpbf16ps on one lane: two fused multiply-adds, the odd k first, on inputs whose subnormals are
// zero, each result's subnormals flushed to zero.
float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float bf16_half(std::uint32_t pair, int half) {
  return flush(std::bit_cast<float>(half == 0 ? pair << 16 : pair & 0xffff0000u));
}
float pair_dot(float sum, std::uint32_t x, std::uint32_t y) {
  sum = flush(std::fma(bf16_half(x, 1), bf16_half(y, 1), flush(sum)));
  return flush(std::fma(bf16_half(x, 0), bf16_half(y, 0), sum));
}

struct Case {
  Isa isa;
  DType dtype;
};

class KernelsTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!isa_supported(GetParam().isa)) GTEST_SKIP() << "no " << isa_name(GetParam().isa);
  }
  DType dtype() const { return GetParam().dtype; }
  const TypeKernels& tested() const { return kernels(GetParam().isa).type(dtype()); }
  const TypeKernels& reference() const { return kernels(Isa::kPortable).type(dtype()); }

  // Bytes of one panel of k elements, and of one step of packed x.
  std::int64_t panel_size(std::int64_t k) const {
    if (dtype() == DType::kF32) return k * 128;
    return dtype() == DType::kBF16 ? ceil_div(k, 2) * 128 : k * 64;
  }
  std::int64_t steps(std::int64_t k) const { return tested().bf16_pairs ? ceil_div(k, 2) : k; }

  // Panels of k elements: with an odd k, pairs are padded by 0.
  void fill_panel(Source& source, std::byte* panel, std::int64_t k) const {
    source.fill(panel, panel_size(k) / static_cast<std::int64_t>(dtype_bytes(dtype())));
    if (dtype() == DType::kBF16 && k % 2 != 0) {
      for (int j = 0; j < kPanelColumns; ++j) {
        std::memset(panel + panel_size(k) - 128 + 4 * j + 2, 0, 2);
      }
    }
  }
};

void expect_tile(const TypeKernels& tested, const TileFunction reference, const TileArgs& args,
                 int rows) {
  // As wide as the tile is; columns of an absent second panel keep what they held.
  const std::int64_t count = std::int64_t{rows} * kPairColumns;
  std::vector<float> expected(count, 7.0f);
  TileArgs reference_args = args;
  reference_args.acc_out = expected.data();
  if (reference != nullptr) {
    reference(reference_args);
  } else {
    const auto* x = static_cast<const std::uint32_t*>(args.x);
    for (int column = 0; column < (args.panel1 == nullptr ? 32 : 64); ++column) {
      const std::byte* panel = column < 32 ? args.panel0 : args.panel1;
      const auto* y = reinterpret_cast<const std::uint32_t*>(panel) + column % 32;
      for (int row = 0; row < rows; ++row) {
        const int at = row * kPairColumns + column;
        float sum = args.acc_in == nullptr ? 0.0f : args.acc_in[at];
        for (std::int64_t step = 0; step < args.num_steps; ++step) {
          sum = pair_dot(sum, x[step * rows + row], y[step * 32]);
        }
        expected[at] = sum;
      }
    }
  }

  GuardedBuffer out(static_cast<std::size_t>(count) * 4);
  std::fill_n(out.as<float>(), count, 7.0f);
  TileArgs tested_args = args;
  tested_args.acc_out = out.as<float>();
  tested.tile[rows](tested_args);
  EXPECT_TRUE(same_floats(out.as<float>(), expected.data(), count));

  if (args.acc_in != nullptr) {  // in place
    std::memcpy(out.data(), args.acc_in, static_cast<std::size_t>(count) * 4);
    for (std::int64_t i = 0; args.panel1 == nullptr && i < count; ++i) {
      if (i % kPairColumns >= kPanelColumns) expected[i] = args.acc_in[i];
    }
    tested_args.acc_in = out.as<float>();
    tested.tile[rows](tested_args);
    EXPECT_TRUE(same_floats(out.as<float>(), expected.data(), count)) << "in place";
  }
}

TEST_P(KernelsTest, TilesContinueTheChain) {
  // Tiles run over f32 panels, or over pairs.
  const bool pairs = tested().bf16_pairs;
  const DType tile_dtype = pairs ? DType::kBF16 : DType::kF32;
  for (Values values : {Values::kOrdinary, Values::kSpecial}) {
    Source source(tile_dtype, values);
    Source acc_source(DType::kF32, values);
    for (int rows = 1; rows <= kTileRows; ++rows) {
      for (std::int64_t num_steps : {0, 1, 2, 3, 4, 5, 7, 8, 31, 128, 131}) {
        const std::int64_t elems_per_step = pairs ? 2 : 1;
        GuardedBuffer x(static_cast<std::size_t>(num_steps * rows * 4));
        GuardedBuffer panel0(static_cast<std::size_t>(num_steps * 128));
        GuardedBuffer panel1(static_cast<std::size_t>(num_steps * 128));
        GuardedBuffer acc_in(static_cast<std::size_t>(rows) * kPairColumns * 4);
        source.fill(x.data(), num_steps * rows * elems_per_step);
        source.fill(panel0.data(), num_steps * 32 * elems_per_step);
        source.fill(panel1.data(), num_steps * 32 * elems_per_step);
        acc_source.fill(acc_in.data(), std::int64_t{rows} * kPairColumns);
        for (int variant = 0; variant < 16; ++variant) {
          SCOPED_TRACE(testing::Message()
                       << rows << " rows, " << num_steps << " steps, variant " << variant);
          TileArgs args;
          args.x = x.data();
          args.panel0 = panel0.data();
          args.num_steps = num_steps;
          if ((variant & 1) != 0) args.panel1 = panel1.data();
          if ((variant & 2) != 0) args.acc_in = acc_in.as<float>();
          if ((variant & 4) != 0) {
            args.prefetch_l2 = panel1.data();
            args.prefetch_l2_bytes = num_steps * 128;
            if ((variant & 8) != 0) {  // runs; what is prefetched may belong to nobody
              args.prefetch_l2_runs = 1 + num_steps % 5;
              args.prefetch_l2_stride = 1000;
            }
            args.next_acc = acc_in.as<float>();
          }
          expect_tile(tested(), pairs ? nullptr : reference().tile[rows], args, rows);
        }
      }
    }
  }
}

TEST_P(KernelsTest, WidensExactly) {
  if (tested().widen == nullptr) {
    EXPECT_TRUE(dtype() == DType::kF32 || tested().bf16_pairs);
    return;
  }
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (std::int64_t k : {1, 2, 3, 64, 127, 128, 2048}) {
    GuardedBuffer panel(static_cast<std::size_t>(panel_size(k)));
    for (std::int64_t offset = 0; offset < (k == 2048 ? 1 : 65536); offset += 9973) {
      for (std::int64_t i = 0; i < panel_size(k) / 2; ++i) {
        panel.as<std::uint16_t>()[i] = all[static_cast<std::size_t>((i + offset) % 65536)];
      }
      GuardedBuffer actual(static_cast<std::size_t>(k * 128));
      std::vector<float> expected(static_cast<std::size_t>(k * kPanelColumns));
      tested().widen({panel.data(), k, actual.as<float>()});
      reference().widen({panel.data(), k, expected.data()});
      EXPECT_TRUE(same_floats(actual.as<float>(), expected.data(), k * kPanelColumns)) << k;
    }
  }
}

TEST_P(KernelsTest, PacksRowsAndReadsNothingElse) {
  const std::int64_t elem_bytes = static_cast<std::int64_t>(dtype_bytes(dtype()));
  Source source(dtype(), Values::kSpecial);
  for (int rows = 1; rows <= 17; ++rows) {
    for (std::int64_t k : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 129}) {
      for (std::int64_t gap : {0, 3}) {
        for (int out_rows : {rows, rows + 5}) {
          SCOPED_TRACE(testing::Message() << rows << " of " << out_rows << " rows, k " << k);
          const std::int64_t stride = k + gap;
          GuardedBuffer x(static_cast<std::size_t>(((rows - 1) * stride + k) * elem_bytes));
          source.fill(x.data(), (rows - 1) * stride + k);
          const std::int64_t count = (steps(k) - 1) * out_rows + rows;
          GuardedBuffer out(static_cast<std::size_t>(count * 4));
          std::fill_n(out.as<float>(), count, 7.0f);
          std::vector<float> expected(static_cast<std::size_t>(count), 7.0f);
          PackRowsArgs args = {.x = x.data(),
                               .row_stride = stride,
                               .rows = rows,
                               .k = k,
                               .out = expected.data(),
                               .out_rows = out_rows};
          if (tested().bf16_pairs) {
            const auto* in = x.as<std::uint16_t>();
            for (std::int64_t step = 0; step < steps(k); ++step) {
              for (int row = 0; row < rows; ++row) {
                const std::uint32_t even = in[row * stride + 2 * step];
                const std::uint32_t odd = 2 * step + 1 < k ? in[row * stride + 2 * step + 1] : 0;
                const std::uint32_t pair = even | odd << 16;
                std::memcpy(&expected[static_cast<std::size_t>(step * out_rows + row)], &pair, 4);
              }
            }
          } else {
            reference().pack_rows(args);
          }
          args.out = out.data();
          tested().pack_rows(args);
          if (tested().bf16_pairs) {
            EXPECT_EQ(std::memcmp(out.data(), expected.data(), static_cast<std::size_t>(count) * 4),
                      0);
          } else {
            EXPECT_TRUE(same_floats(out.as<float>(), expected.data(), count));
          }
        }
      }
    }
  }
}

TEST_P(KernelsTest, DecodesAnyNumberOfRowsAndPanels) {
  for (Values values : {Values::kOrdinary, Values::kSpecial}) {
    Source source(dtype(), values);
    for (int rows = 1; rows <= tested().max_decode_rows; ++rows) {
      // The references are slow: all shapes of tiles and blocks, not all products of them.
      if (rows > 8 && rows % 5 != 3 && rows != tested().max_decode_rows) continue;
      for (int num_panels : {1, 2, 3, 5, 8}) {
        for (std::int64_t k : {1, 2, 3, 65, 130, 259}) {
          if ((rows + num_panels) % 3 != 0 && k > 65) continue;
          SCOPED_TRACE(testing::Message() << rows << " rows, " << num_panels << " panels, k " << k);
          const std::int64_t stride = panel_size(k) + 64;
          GuardedBuffer panels(static_cast<std::size_t>((num_panels - 1) * stride + panel_size(k)));
          for (int p = 0; p < num_panels; ++p) {
            fill_panel(source, panels.data() + p * stride, k);
          }
          // Packed from rows, so that the padding of an odd k is as the drivers make it.
          const std::int64_t elem_bytes = static_cast<std::int64_t>(dtype_bytes(dtype()));
          std::vector<std::byte> x(static_cast<std::size_t>(rows * k * elem_bytes));
          source.fill(x.data(), rows * k);
          GuardedBuffer packed(static_cast<std::size_t>(steps(k) * rows * 4));
          PackRowsArgs pack = {.x = x.data(),
                               .row_stride = k,
                               .rows = rows,
                               .k = k,
                               .out = packed.data(),
                               .out_rows = rows};
          tested().pack_rows(pack);

          const std::int64_t count = std::int64_t{rows} * num_panels * kPanelColumns;
          std::vector<float> expected(static_cast<std::size_t>(count));
          DecodeArgs args = {.x = packed.data(),
                             .rows = rows,
                             .panels = panels.data(),
                             .panel_bytes = stride,
                             .num_panels = num_panels,
                             .k = k,
                             .acc = expected.data()};
          if (tested().bf16_pairs) {
            const auto* pairs = packed.as<std::uint32_t>();
            for (std::int64_t i = 0; i < count; ++i) {
              const std::int64_t row = i / (num_panels * kPanelColumns);
              const std::int64_t column = i % (num_panels * kPanelColumns);
              const auto* y = reinterpret_cast<const std::uint32_t*>(
                                  panels.data() + column / kPanelColumns * stride) +
                              column % kPanelColumns;
              float sum = 0;
              for (std::int64_t step = 0; step < steps(k); ++step) {
                sum = pair_dot(sum, pairs[step * rows + row], y[step * kPanelColumns]);
              }
              expected[static_cast<std::size_t>(i)] = sum;
            }
          } else {
            // Row by row, whatever number of rows the reference takes at once.
            std::vector<float> x_row(static_cast<std::size_t>(k));
            args.x = x_row.data();
            args.rows = 1;
            for (int row = 0; row < rows; ++row) {
              for (std::int64_t step = 0; step < k; ++step) {
                x_row[static_cast<std::size_t>(step)] = packed.as<float>()[step * rows + row];
              }
              args.acc = expected.data() + std::int64_t{row} * num_panels * kPanelColumns;
              reference().decode(args);
            }
            args.x = packed.data();
            args.rows = rows;
          }
          GuardedBuffer acc(static_cast<std::size_t>(count) * 4);
          args.acc = acc.as<float>();
          tested().decode(args);
          EXPECT_TRUE(same_floats(acc.as<float>(), expected.data(), count));
        }
      }
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::string(isa_name(info.param.isa)) + "_" + std::string(dtype_name(info.param.dtype));
}

INSTANTIATE_TEST_SUITE_P(
    Tables, KernelsTest,
    testing::Values(Case{Isa::kAvx2, DType::kF32}, Case{Isa::kAvx2, DType::kBF16},
                    Case{Isa::kAvx2, DType::kF16}, Case{Isa::kAvx512, DType::kF32},
                    Case{Isa::kAvx512, DType::kBF16}, Case{Isa::kAvx512, DType::kF16},
                    Case{Isa::kAvx512Bf16, DType::kBF16}, Case{Isa::kAvx512Bf16, DType::kF32}),
    case_name);

}  // namespace
}  // namespace cmm::gemm
