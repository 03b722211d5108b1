// Few rows: the weights are streamed once, several panels side by side; a view of y where it lies.
#include <algorithm>

#include "base/check.hpp"
#include "gemm/fetch.hpp"
#include "gemm/output.hpp"
#include "gemm/pad_columns.hpp"
#include "gemm/product.hpp"

namespace cmm::gemm {
namespace {

// Of a row-major y, what is multiplied together while the next as large block is fetched to L2.
// With smaller blocks the sums are loaded and stored more often, which 1 or 2 rows of x feel least.
// On Zen 4 (1 MiB of L2) 1 row of bf16 took 1.2 times as long with 128 KB as with 64 KB, and 4 rows
// the other way round; f32 up to 2 rows were alike, and 256 KB took 1.5 times as long for 1 row.
constexpr std::int64_t kViewBlockBytes = 128 << 10;
constexpr std::int64_t kViewBlockBytesOfTwoRows = 64 << 10;
constexpr std::int64_t kMinViewBlockRows = 8;
constexpr std::int64_t kMaxViewBlockRows = 128;
// Rows of a panel that is copied because it is narrow or has other strides.
constexpr std::int64_t kPaddedRows = 64;

std::int64_t view_block_rows(int rows_of_x, std::int64_t row_bytes) {
  const std::int64_t bytes = rows_of_x <= 2 ? kViewBlockBytesOfTwoRows : kViewBlockBytes;
  return std::clamp(bytes / row_bytes / 2 * 2, kMinViewBlockRows, kMaxViewBlockRows);
}

// The sums of x and panels [first_panel, ...) of one view.
class DecodeView {
 public:
  // `args`: x, rows, k, num_panels, acc and acc_stride.
  DecodeView(const TypeKernels& type, const StridedMatrixRef& y, std::int64_t first_panel,
             const DecodeViewArgs& args)
      : type_(type), y_(y), first_column_(first_panel * kPanelColumns), args_(args) {}

  void run() const {
    if (args_.k == 0) return set_zero();  // y may be a null pointer
    const bool regular = y_.col_stride == 1 || y_.row_stride == 1;
    const auto num_whole =
        static_cast<int>(regular ? std::min<std::int64_t>((y_.cols - first_column_) / kPanelColumns,
                                                          args_.num_panels)
                                 : 0);
    if (num_whole > 0) {
      DecodeViewArgs whole = args_;
      whole.num_panels = num_whole;
      whole.y = element(0, 0);
      if (y_.col_stride == 1) {
        whole.stride = y_.row_stride;
        multiply_rows(whole);
      } else {
        whole.stride = y_.col_stride;
        whole.first = true;
        type_.decode_columns_of_y(whole);
      }
    }
    for (int panel = num_whole; panel < args_.num_panels; ++panel) multiply_padded(panel);
  }

 private:
  std::int64_t elem_bytes() const { return static_cast<std::int64_t>(dtype_bytes(y_.dtype)); }
  const std::byte* element(std::int64_t k, std::int64_t column) const {
    return static_cast<const std::byte*>(y_.data) +
           (k * y_.row_stride + (first_column_ + column) * y_.col_stride) * elem_bytes();
  }
  // Of the steps from k0 on, an even number.
  const std::byte* x_from(std::int64_t k0) const {
    const std::int64_t step = k0 / (type_.bf16_pairs ? 2 : 1);
    return static_cast<const std::byte*>(args_.x) + step * args_.rows * kStepBytes;
  }

  void set_zero() const {
    for (int i = 0; i < args_.rows; ++i) {
      std::fill_n(args_.acc + i * args_.acc_stride, args_.num_panels * kPanelColumns, 0.0f);
    }
  }

  void multiply_rows(DecodeViewArgs block) const {
    const std::int64_t row_bytes = std::int64_t{block.num_panels} * kPanelColumns * elem_bytes();
    const std::int64_t block_rows = view_block_rows(args_.rows, row_bytes);
    for (std::int64_t k0 = 0; k0 < args_.k; k0 += block_rows) {
      block.x = x_from(k0);
      block.y = element(k0, 0);
      block.k = std::min(block_rows, args_.k - k0);
      block.next_y = k0 + block.k < args_.k ? element(k0 + block.k, 0) : nullptr;
      block.first = k0 == 0;
      fetch_pages({k0 + block.k, std::min(k0 + block.k + block_rows, args_.k)}, row_bytes);
      type_.decode_rows_of_y(block);
    }
  }

  // The pages of the next block together, for the reason that Strip::fetch_pages has.
  void fetch_pages(Range rows, std::int64_t row_bytes) const {
    for (std::int64_t k = rows.begin; k < rows.end; ++k) {
      const std::byte* row = element(k, 0);
      for (std::int64_t i = 0; i < row_bytes; i += kSmallPageBytes) fetch_line(row + i);
      if (reinterpret_cast<std::uintptr_t>(row) % kSmallPageBytes != 0)
        fetch_line(row + row_bytes - 1);
    }
  }

  void multiply_padded(int panel) const {
    const std::int64_t column = std::int64_t{panel} * kPanelColumns;
    const std::int64_t columns =
        std::min<std::int64_t>(kPanelColumns, y_.cols - first_column_ - column);
    alignas(64) std::byte rows[kPaddedRows * kPanelColumns * 4];
    DecodeViewArgs block = args_;
    block.y = rows;
    block.stride = kPanelColumns;
    block.num_panels = 1;
    block.acc += column;
    for (std::int64_t k0 = 0; k0 < args_.k; k0 += kPaddedRows) {
      block.x = x_from(k0);
      block.k = std::min(kPaddedRows, args_.k - k0);
      block.first = k0 == 0;
      pad_columns({element(k0, column), y_.dtype, block.k, columns, y_.row_stride, y_.col_stride},
                  rows);
      type_.decode_rows_of_y(block);
    }
  }

  const TypeKernels& type_;
  const StridedMatrixRef& y_;
  std::int64_t first_column_;
  DecodeViewArgs args_;
};

}  // namespace

int max_decode_rows(const Kernels& kernels, DType dtype) {
  return kernels.type(dtype).max_decode_rows;
}

bool multiplies_decode(const Product& product, std::int64_t m) {
  return m <= (any_view(product) ? kMaxDecodeViewRows
                                 : max_decode_rows(*product.kernels, product.dtype));
}

int max_decode_panels(const Product& product, std::int64_t m) {
  if (!any_view(product)) return kMaxDecodePanels;
  return m <= 4 ? kMaxDecodeViewPanels : kMaxDecodeViewPanels / 2;
}

void multiply_decode(const Product& product, const std::byte* packed_x, std::int64_t m,
                     ColumnRange columns, Workspace& workspace) {
  const TypeKernels& type = product.kernels->type(product.dtype);
  CMM_DCHECK(multiplies_decode(product, m));
  if (m == 0) return;
  const int num_sides = product.swiglu ? 2 : 1;
  const std::int64_t max_panels = max_decode_panels(product, m);
  for (std::int64_t first = columns.first_panel; first < columns.last_panel; first += max_panels) {
    const auto num_panels = static_cast<int>(std::min(max_panels, columns.last_panel - first));
    const std::int64_t acc_stride = std::int64_t{kPanelColumns} * num_panels;
    float* acc[2] = {workspace.accumulators(), workspace.accumulators() + m * acc_stride};
    for (int s = 0; s < num_sides; ++s) {
      const Side& side = product.sides[static_cast<std::size_t>(columns.side + s)];
      const auto rows = static_cast<int>(m);
      if (side.view != nullptr) {
        DecodeView(type, *side.view, first,
                   {.x = packed_x,
                    .rows = rows,
                    .k = product.k,
                    .num_panels = num_panels,
                    .acc = acc[s],
                    .acc_stride = acc_stride})
            .run();
        continue;
      }
      type.decode({.x = packed_x,
                   .rows = rows,
                   .panels = side.y->panel(first),
                   .panel_bytes = side.y->panel_bytes(),
                   .num_panels = num_panels,
                   .k = product.k,
                   .acc = acc[s]});
    }
    store_output(product, {.side = columns.side,
                           .row = 0,
                           .rows = static_cast<int>(m),
                           .first_panel = first,
                           .num_panels = num_panels,
                           .acc = acc[0],
                           .acc_up = product.swiglu ? acc[1] : nullptr,
                           .acc_stride = acc_stride});
  }
}

}  // namespace cmm::gemm
