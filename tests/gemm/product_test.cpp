// Whole outputs of the drivers against the scalar chain, for every instruction set.
#include <gtest/gtest.h>

#include "gemm/isa_param.hpp"
#include "gemm/local_product.hpp"

namespace cmm::test {
namespace {

class Product : public IsaTest {};

// Rounds like the oracle, whichever way it is cut.
void expect_right(const ProductCase& c, const Cut& cut) {
  const Operands operands = random_operands(c);
  EXPECT_EQ(differences(c, driver_product(c, operands, cut), oracle_product(c, operands)), "");
}

TEST_P(Product, EveryShapeOfZerosOnesAndPrimes) {
  for (DType dtype : kDTypes) {
    for (std::int64_t m : {0, 1, 7, 13}) {
      for (std::int64_t k : {0, 1, 2, 127, 263}) {
        for (std::int64_t n : {0, 1, 31, 97}) {
          for (Flush flush : {Flush::kStart, Flush::kEnd}) {
            expect_right({.isa = isa(), .dtype = dtype, .m = m, .k = k, .n = n}, {.flush = flush});
          }
        }
      }
    }
  }
}

TEST_P(Product, EveryRowCountByTilesAndByDecode) {
  for (DType dtype : kDTypes) {
    const int max_decode = gemm::max_decode_rows(gemm::kernels(isa()), dtype);
    ASSERT_GE(max_decode, 1);
    for (std::int64_t m = 1; m <= 26; ++m) {
      const ProductCase c = {.isa = isa(), .dtype = dtype, .m = m, .k = 131, .n = 101};
      const Operands operands = random_operands(c);
      const auto want = oracle_product(c, operands);
      for (Flush flush : {Flush::kStart, Flush::kEnd}) {
        EXPECT_EQ(differences(c, driver_product(c, operands, {.flush = flush}), want), "");
        if (m > max_decode) continue;
        const Cut cut = {.decode = true, .chunk_rows = 3, .flush = flush};
        EXPECT_EQ(differences(c, driver_product(c, operands, cut), want), "") << "decode";
      }
    }
  }
}

TEST_P(Product, BitsDoNotDependOnChunksOrColumnSplits) {
  for (DType dtype : kDTypes) {
    const ProductCase c = {.isa = isa(), .dtype = dtype, .m = 67, .k = 300, .n = 331};
    const Operands operands = random_operands(c);
    const auto want = oracle_product(c, operands);
    for (std::int64_t chunk_rows : {1, 5, 6, 32, 67}) {
      for (std::int64_t panels : {1, 3, 8}) {
        const Cut cut = {.chunk_rows = chunk_rows, .panels_per_call = panels};
        EXPECT_EQ(differences(c, driver_product(c, operands, cut), want), "")
            << "chunks of " << chunk_rows << " rows, calls of " << panels << " panels";
      }
    }
  }
}

TEST_P(Product, DecodeBitsDoNotDependOnColumnSplits) {
  for (DType dtype : kDTypes) {
    for (std::int64_t m : {1, 2, 4, 6}) {
      const ProductCase c = {.isa = isa(), .dtype = dtype, .m = m, .k = 259, .n = 1300};
      const Operands operands = random_operands(c);
      const auto want = oracle_product(c, operands);
      for (std::int64_t panels : {1, 7, 16, 17, 41}) {
        const Cut cut = {.decode = true, .panels_per_call = panels};
        EXPECT_EQ(differences(c, driver_product(c, operands, cut), want), "")
            << "calls of " << panels << " panels";
      }
    }
  }
}

TEST_P(Product, MoreRowsThanOneCallTakes) {
  expect_right({.isa = isa(), .dtype = DType::kBF16, .m = 263, .k = 129, .n = 65}, {});
}

// However rows are cut, the sums of a call are at most those of 43 tiles by 16 panels.
TEST(CallLimits, HoldTheSumsOfACall) {
  const StridedMatrixRef row_major(nullptr, DType::kBF16, 64, 64, 64, 1);
  const StridedMatrixRef column_major(nullptr, DType::kBF16, 64, 64, 1, 64);
  for (const StridedMatrixRef* view : {&row_major, &column_major}) {
    const gemm::Side sides[2] = {{.view = view, .out = {}}, {.view = view, .out = {}}};
    for (const bool swiglu : {false, true}) {
      const gemm::Product product = {.sides = sides, .swiglu = swiglu};
      for (std::int64_t num_tiles = 1; num_tiles <= 4 * gemm::kMaxTiles; ++num_tiles) {
        const gemm::CallLimits limits = gemm::call_limits(product, num_tiles);
        EXPECT_LE(limits.tiles * limits.panels * (swiglu ? 2 : 1),
                  gemm::kMaxTiles * gemm::kMaxPanels);
        EXPECT_EQ(limits.tiles, ceil_div(num_tiles, ceil_div(num_tiles, gemm::kMaxViewTiles)));
        EXPECT_GE(limits.panels, gemm::kMinPanels);
        EXPECT_EQ(limits.panels % gemm::kMaxStripPanels, 0);
      }
    }
  }
}

TEST_P(Product, EveryOutputTypeWithBiasAndActivation) {
  for (DType out_dtype : kDTypes) {
    for (Activation activation : kActivations) {
      for (bool decode : {false, true}) {
        ProductCase c = {.isa = isa(), .dtype = DType::kF32, .out_dtype = out_dtype};
        c.m = 5;
        c.k = 37;
        c.n = 75;
        c.bias = true;
        c.activation = activation;
        expect_right(c, {.decode = decode});
        expect_right(c, {.decode = decode, .flush = Flush::kStart});
      }
    }
  }
}

TEST_P(Product, SwiGluOverGateAndUp) {
  for (DType dtype : kDTypes) {
    for (bool bias : {false, true}) {
      for (std::int64_t k : {0, 3, 300}) {
        ProductCase c = {.isa = isa(), .dtype = dtype, .out_dtype = dtype};
        c.m = 11;
        c.k = k;
        c.n = 299;
        c.bias = bias;
        c.swiglu = true;
        expect_right(c, {});
        expect_right(c, {.panels_per_call = 3});
        for (int m : {3, gemm::max_decode_rows(gemm::kernels(isa()), dtype)}) {
          c.m = m;
          expect_right(c, {.decode = true, .panels_per_call = 17});
        }
      }
    }
  }
}

INSTANTIATE_ISA_TESTS(Product);

}  // namespace
}  // namespace cmm::test
