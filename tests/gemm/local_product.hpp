// Runs a product through the drivers on buffers between guard pages, cut as a test asks, and says
// where its bits differ from the oracle's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gemm/product.hpp"
#include "support/guard_pages.hpp"
#include "support/oracle.hpp"
#include "support/stored.hpp"

namespace cmm::test {

struct ProductCase {
  Isa isa = Isa::kPortable;
  DType dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;
  bool bias = false;
  Activation activation = Activation::kNone;
  bool swiglu = false;

  friend std::ostream& operator<<(std::ostream& out, const ProductCase& c) {
    return out << isa_name(c.isa) << " " << dtype_name(c.dtype) << "->" << dtype_name(c.out_dtype)
               << " m=" << c.m << " k=" << c.k << " n=" << c.n << " bias=" << c.bias << " "
               << activation_name(c.activation) << " swiglu=" << c.swiglu;
  }
};

// How the product is cut into calls.
struct Cut {
  bool decode = false;
  std::int64_t chunk_rows = INT64_MAX;                  // rows packed together
  std::int64_t panels_per_call = gemm::kMaxPanels / 2;  // at most that, SwiGLU included
  Flush flush = Flush::kEnd;
};

// The operands of a case as values.
struct Operands {
  Values x;
  std::vector<Values> y;     // 1, SwiGLU: gate and up
  std::vector<Values> bias;  // one row each; no rows without bias
};

inline Operands random_operands(const ProductCase& c, unsigned seed = 1) {
  Operands operands{random_values(c.m, c.k, c.dtype, seed), {}, {}};
  for (unsigned s = 0; s < (c.swiglu ? 2u : 1u); ++s) {
    operands.y.push_back(random_values(c.k, c.n, c.dtype, seed + 10 + s));
    operands.bias.push_back(random_values(c.bias ? 1 : 0, c.n, DType::kF32, seed + 20 + s));
  }
  return operands;
}

// [m, n] output bits by the oracle.
inline std::vector<std::uint32_t> oracle_product(const ProductCase& c, const Operands& operands) {
  const SumRule rule = sum_rule(c.isa, c.dtype);
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      float sums[2] = {};
      for (std::size_t s = 0; s < operands.y.size(); ++s) {
        sums[s] = oracle_sum(operands.x, operands.y[s], i, j, rule);
        if (c.bias) sums[s] += operands.bias[s].at(0, j);
      }
      const float value = c.swiglu ? oracle_activation(Activation::kSilu, sums[0]) * sums[1]
                                   : oracle_activation(c.activation, sums[0]);
      bits.push_back(output_bits(c.out_dtype, value));
    }
  }
  return bits;
}

inline ConstMatrixRef rows_of(Stored& x, Range rows) {
  ConstMatrixRef part = x.ref();
  part.data = x.element(rows.begin, 0);
  part.rows = rows.size();
  return part;
}

// Exactly as many bytes as `rows` packed rows have, between guard pages.
inline GuardedBuffer packed_buffer(const gemm::Product& product, std::int64_t rows, Flush flush) {
  return GuardedBuffer(static_cast<std::size_t>(
                           gemm::packed_bytes(*product.kernels, product.dtype, rows, product.k)),
                       flush);
}

template <class Call>
void for_columns(const gemm::Product& product, const Cut& cut, Call&& call) {
  const std::int64_t num_panels = product.sides[0].y->num_panels();
  for (std::int64_t p = 0; p < num_panels; p += cut.panels_per_call) {
    call(gemm::ColumnRange{0, p, std::min(num_panels, p + cut.panels_per_call)});
  }
}

// The rows of each chunk and the halves of k are packed apart, as different threads would.
inline void run_decode(const gemm::Product& product, Stored& x, std::int64_t m, const Cut& cut) {
  gemm::Workspace workspace;
  GuardedBuffer packed = packed_buffer(product, m, cut.flush);
  const std::int64_t steps = gemm::num_steps(*product.kernels, product.dtype, product.k);
  const std::int64_t chunk_rows = std::min(cut.chunk_rows, m);
  for (std::int64_t row = 0; row < m; row += chunk_rows) {
    const Range rows = {row, std::min(m, row + chunk_rows)};
    for (Range half : {Range{0, steps / 2}, Range{steps / 2, steps}}) {
      gemm::pack_decode({product.kernels, rows_of(x, rows), row, m, half, packed.data()});
    }
  }
  for_columns(product, cut, [&](gemm::ColumnRange columns) {
    gemm::multiply_decode(product, packed.data(), m, columns, workspace);
  });
}

inline void run_tiles(const gemm::Product& product, Stored& x, std::int64_t m, const Cut& cut) {
  gemm::Workspace workspace;
  std::vector<GuardedBuffer> chunks;
  std::vector<gemm::RowTile> tiles;
  const std::int64_t chunk_rows = std::min(cut.chunk_rows, m);
  for (std::int64_t row = 0; row < m; row += chunk_rows) {
    const Range chunk = {row, std::min(m, row + chunk_rows)};
    chunks.push_back(packed_buffer(product, chunk.size(), cut.flush));
    std::byte* packed = chunks.back().data();
    const std::int64_t num_tiles = gemm::num_tiles(chunk.size());
    for (Range half : {Range{num_tiles / 2, num_tiles}, Range{0, num_tiles / 2}}) {
      gemm::pack_tiles(*product.kernels, rows_of(x, chunk), half, packed);
    }
    for (std::int64_t t = 0; t < num_tiles; ++t) {
      const Range rows = gemm::tile_rows(chunk.size(), t);
      tiles.push_back({packed, chunk.size(), rows.begin, chunk.begin + rows.begin,
                       static_cast<int>(rows.size())});
    }
  }
  for (std::size_t t = 0; t < tiles.size(); t += gemm::kMaxTiles) {
    const std::size_t count = std::min<std::size_t>(gemm::kMaxTiles, tiles.size() - t);
    for_columns(product, cut, [&](gemm::ColumnRange columns) {
      gemm::multiply_tiles(product, std::span(tiles).subspan(t, count), columns, workspace);
    });
  }
}

// [m, n] output bits by the drivers. Throws std::runtime_error where bytes between the rows of the
// output changed.
inline std::vector<std::uint32_t> driver_product(const ProductCase& c, const Operands& operands,
                                                 const Cut& cut) {
  Stored x(operands.x, c.dtype, c.k + 3, cut.flush);
  Stored out(Values(c.m, c.n, std::numeric_limits<float>::quiet_NaN()), c.out_dtype, c.n + 5,
             cut.flush);
  std::vector<std::unique_ptr<Stored>> bias;
  std::vector<gemm::Panels> panels;
  std::vector<gemm::Side> sides;
  for (const Values& y : operands.y) {
    panels.emplace_back(Stored(y, c.dtype, c.n + 1, cut.flush).ref());
  }
  for (std::size_t s = 0; s < panels.size(); ++s) {
    bias.push_back(std::make_unique<Stored>(operands.bias[s], DType::kF32, c.n, cut.flush));
    sides.push_back({.y = &panels[s],
                     .bias = c.bias ? static_cast<const float*>(bias[s]->ref().data) : nullptr,
                     .activation = c.activation,
                     .out = out.writable_ref()});
  }
  const gemm::Product product = {.kernels = &gemm::kernels(c.isa),
                                 .dtype = c.dtype,
                                 .k = c.k,
                                 .sides = sides,
                                 .swiglu = c.swiglu};
  cut.decode ? run_decode(product, x, c.m, cut) : run_tiles(product, x, c.m, cut);
  if (!out.gaps_untouched()) throw std::runtime_error("bytes between the rows of out changed");
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      bits.push_back(load_bits(c.out_dtype, out.element(i, j)));
    }
  }
  return bits;
}

// "" where all bits are equal, else the number of differences and the first of them.
inline std::string differences(const ProductCase& c, const std::vector<std::uint32_t>& got,
                               const std::vector<std::uint32_t>& want) {
  std::ostringstream text;
  if (got.size() != want.size()) text << "sizes " << got.size() << " and " << want.size();
  std::int64_t count = 0;
  for (std::size_t e = 0; e < std::min(got.size(), want.size()); ++e) {
    if (got[e] == want[e] || count++ != 0) continue;
    text << "first at row " << static_cast<std::int64_t>(e) / c.n << " column "
         << static_cast<std::int64_t>(e) % c.n << ": " << std::hex << got[e] << ", oracle "
         << want[e] << std::dec << "; ";
  }
  if (count != 0) text << count << " of " << want.size() << " elements differ in " << c;
  return text.str();
}

}  // namespace cmm::test
