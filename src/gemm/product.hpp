// The local product out = epilogue(x * y): drivers over packed rows and panels, one call per
// claimed block. Nothing here knows of ranks or threads; the executor decides who calls what.
//
// Prefill: rows of x are packed chunk by chunk into tiles of up to 6 rows; a call multiplies a
// list of tiles by a range of panels. Decode (few rows): all rows are packed side by side and a
// call streams a range of panels, or of columns of a view, once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/integers.hpp"
#include "cmm/epilogue.hpp"
#include "cmm/matrix.hpp"
#include "gemm/kernels.hpp"
#include "gemm/panels.hpp"
#include "gemm/strip.hpp"

namespace cmm::gemm {

class LibraryMatrix;

// One right side and where its product goes. Of the first three, one is set.
struct Side {
  const Panels* y = nullptr;
  const StridedMatrixRef* view = nullptr;  // y [k, n] itself: blocks are packed as they are needed
  const LibraryMatrix* library = nullptr;  // the executor's library engine multiplies
  const float* bias = nullptr;             // [n] or nullptr
  Activation activation = Activation::kNone;
  MatrixRef out;  // [m, n]; SwiGLU: only the first side's is used

  std::int64_t n() const { return view != nullptr ? view->cols : y->n(); }
  std::int64_t num_panels() const { return ceil_div(n(), kPanelColumns); }
};

struct Product {
  const Kernels* kernels = nullptr;
  DType dtype = DType::kF32;  // of x and of every y
  std::int64_t k = 0;
  std::span<const Side> sides;  // 1 or more; SwiGLU: exactly gate, up
  bool swiglu = false;          // out = silu(gate) * up
};

// Panels [first, last) of one side (of both sides under SwiGLU).
struct ColumnRange {
  int side = 0;
  std::int64_t first_panel = 0;
  std::int64_t last_panel = 0;
};

// Up to 6 rows of a packed chunk.
struct RowTile {
  const std::byte* packed = nullptr;  // start of the packed chunk
  std::int64_t chunk_rows = 0;        // rows of the packed chunk
  std::int64_t chunk_row = 0;         // first row of the tile inside it
  std::int64_t out_row = 0;           // first row of the tile in out
  int rows = 0;                       // 1 .. 6
};

// Rows of a chunk are balanced over ceil(rows / 6) tiles.
std::int64_t num_tiles(std::int64_t rows);
Range tile_rows(std::int64_t rows, std::int64_t tile);

inline constexpr std::int64_t kStepBytes = 4;

// Bytes of `rows` packed rows. -1 on overflow.
std::int64_t packed_bytes(const Kernels& kernels, DType dtype, std::int64_t rows, std::int64_t k);

// Packs tiles [tiles.begin, tiles.end) of chunk x [rows, k] into `packed`, whose layout is
// [k block][tile][step][rows of the tile]. Different tiles may be packed by different threads.
void pack_tiles(const Kernels& kernels, const ConstMatrixRef& x, Range tiles, std::byte* packed);

// Packs k steps `steps` of rows x [rows, k] into columns [first_row, first_row + rows) of the
// decode layout [steps of k][m], or (in_tiles) into those rows of a chunk of m rows as pack_tiles
// lays it out. Different rows or steps may be packed by different threads.
struct DecodePackArgs {
  const Kernels* kernels = nullptr;
  ConstMatrixRef x;
  std::int64_t first_row = 0;
  std::int64_t m = 0;
  Range steps;
  std::byte* packed = nullptr;
  bool in_tiles = false;
};
void pack_decode(const DecodePackArgs& args);
std::int64_t num_steps(const Kernels& kernels, DType dtype, std::int64_t k);

// Scratch of one thread; no call allocates once it is made.
class Workspace {
 public:
  Workspace();
  static std::int64_t bytes();

  float* accumulators() { return accumulators_.as<float>(); }
  float* widened() { return widened_.as<float>(); }
  // Two strips of views, in turn.
  std::byte* strip(int i) { return strips_.data() + i * kStripBytes; }

 private:
  AlignedBuffer accumulators_;
  AlignedBuffer widened_;
  AlignedBuffer strips_;
};

// One call of multiply_tiles takes up to 43 tiles (258 rows) by 16 panels (512 columns; SwiGLU: 8
// panels of each side), whose sums stay in L2. More are the caller's to split.
inline constexpr int kMaxTiles = 43;
inline constexpr int kMaxPanels = 16;
// Of a view as many sums may have another shape:
//   - A call of many tiles is half as wide and twice as tall, so that y is read, and packed in
//     strips, half as often: 3 % of 1032 rows on Zen 4. Four times as tall gave no more, and the
//     block of x, now 264 KB, would no longer fit beside the sums into 1 MiB.
//   - Of few tiles and a row-major y it is wider. Of each row it reads these columns, a page or
//     more; with 512 of them a page in small pages is looked up 2 to 4 times as often, which took a
//     fourth more time for 16 and for 32 rows.
inline constexpr int kMaxViewTiles = 2 * kMaxTiles;
inline constexpr int kMaxViewPanels = 64;
inline constexpr int kMinPanels = kMaxPanels / 4;  // SwiGLU of many tiles
struct CallLimits {
  std::int64_t tiles = 0;
  std::int64_t panels = 0;  // of each side
};
// How `num_tiles` tiles of a product are cut into calls.
CallLimits call_limits(const Product& product, std::int64_t num_tiles);
bool any_view(const Product& product);
bool any_row_major_view(const Product& product);

void multiply_tiles(const Product& product, std::span<const RowTile> tiles, ColumnRange columns,
                    Workspace& workspace);

// Largest m that multiply_decode takes for this dtype where no side is a view.
int max_decode_rows(const Kernels& kernels, DType dtype);
// Whether multiply_decode takes m rows of this product; of more, views are packed in strips.
bool multiplies_decode(const Product& product, std::int64_t m);
// Panels of each side that it multiplies at a time. Of each row of a row-major view it reads these
// columns, a page or more; 2048 up to 4 rows, and 1024 of more rows, whose sums would fill L1 (1.15
// times as fast for 6 and 8 rows on Zen 4).
int max_decode_panels(const Product& product, std::int64_t m);
// Columns of any length; x as packed by pack_decode, not in tiles; writes rows 0 .. m-1 of out.
void multiply_decode(const Product& product, const std::byte* packed_x, std::int64_t m,
                     ColumnRange columns, Workspace& workspace);

}  // namespace cmm::gemm
