#include "gemm/strip.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "gemm/fetch.hpp"
#include "gemm/pad_columns.hpp"

namespace cmm::gemm {
namespace {

constexpr std::int64_t kUnitRows = 2;      // pairs of k are not split
constexpr std::int64_t kUnitColumns = 16;  // what a kernel transposes at a time

}  // namespace

Strip::Strip(const Kernels& kernels, const StridedMatrixRef& y, const Place& place, std::byte* out)
    : type_(&kernels.type(y.dtype)), y_(y), place_(place), out_(out) {
  CMM_DCHECK(place.num_panels <= strip_panels(y.dtype));
  if (place.k == 0) return;  // y may be a null pointer
  const bool whole = place.column + place.num_panels * kPanelColumns <= y.cols;
  if (whole && y.col_stride == 1) {
    order_ = Order::kRows;
    num_units_ = ceil_div(place.k, kUnitRows);
  } else if (whole && y.row_stride == 1) {
    order_ = Order::kColumns;
    num_units_ = place.num_panels * kPanelColumns / kUnitColumns;
  } else {
    num_units_ = place.num_panels;
  }
}

const std::byte* Strip::element(std::int64_t k, std::int64_t column) const {
  return static_cast<const std::byte*>(y_.data) +
         ((place_.k0 + k) * y_.row_stride + (place_.column + column) * y_.col_stride) *
             static_cast<std::int64_t>(dtype_bytes(y_.dtype));
}

void Strip::pack(Range units) const {
  if (units.size() == 0) return;
  switch (order_) {
    case Order::kRows:
      return pack_rows_of_y(units);
    case Order::kColumns:
      return pack_columns_of_y(units);
    case Order::kOther:
      for (std::int64_t panel = units.begin; panel < units.end; ++panel) pack_panel(panel);
  }
}

void Strip::pack_rows_of_y(Range units) const {
  const Range rows = {units.begin * kUnitRows, std::min(units.end * kUnitRows, place_.k)};
  const std::int64_t step = rows.begin / (type_->bf16_pairs ? 2 : 1);
  for (int panel = 0; panel < place_.num_panels; ++panel) {
    type_->pack_columns(
        {.y = element(rows.begin, std::int64_t{panel} * kPanelColumns),
         .k_stride = y_.row_stride,
         .k = rows.size(),
         .out = out_ + panel * kStripPanelBytes + step * kPanelColumns * std::int64_t{4}});
  }
}

// Columns of y as rows of x.
void Strip::pack_columns_of_y(Range units) const {
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t column = unit * kUnitColumns;
    type_->pack_rows(
        {.x = element(0, column),
         .row_stride = y_.col_stride,
         .rows = kUnitColumns,
         .k = place_.k,
         .out = out_ + column / kPanelColumns * kStripPanelBytes + column % kPanelColumns * 4,
         .out_rows = kPanelColumns});
  }
}

void Strip::pack_panel(std::int64_t panel) const {
  constexpr std::int64_t kMaxRows = 2 * kBlockSteps;
  CMM_DCHECK(place_.k <= kMaxRows);
  const std::int64_t column = panel * kPanelColumns;
  const std::int64_t columns =
      std::min<std::int64_t>(kPanelColumns, y_.cols - place_.column - column);
  const StridedMatrixRef part(element(0, column), y_.dtype, place_.k, columns, y_.row_stride,
                              y_.col_stride);
  alignas(64) std::byte rows[kMaxRows * kPanelColumns * 4];
  pad_columns(part, rows);
  type_->pack_columns({.y = rows,
                       .k_stride = kPanelColumns,
                       .k = place_.k,
                       .out = out_ + panel * kStripPanelBytes});
}

Strip::Memory Strip::memory(Range units) const {
  if (units.size() == 0) return {};
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(y_.dtype));
  if (order_ == Order::kRows) {
    return {.begin = element(units.begin * kUnitRows, 0),
            .run_bytes = place_.num_panels * kPanelColumns * elem_bytes,
            .num_runs = units.size() * kUnitRows,
            .stride_bytes = y_.row_stride * elem_bytes};
  }
  if (order_ == Order::kColumns) {
    return {.begin = element(0, units.begin * kUnitColumns),
            .run_bytes = place_.k * elem_bytes,
            .num_runs = units.size() * kUnitColumns,
            .stride_bytes = y_.col_stride * elem_bytes};
  }
  return {};
}

void Strip::fetch() const {
  const Memory all = memory({0, num_units_});
  for (std::int64_t run = 0; run < all.num_runs; ++run) {
    for (std::int64_t i = 0; i < all.run_bytes; i += kLineBytes) {
      fetch_line(all.begin + run * all.stride_bytes + i);
    }
  }
}

void Strip::fetch_pages(bool first_of_rows) const {
  const Memory all = memory({0, num_units_});
  // Of columns of y a page serves several blocks of k, by which time its look-up may be lost.
  const bool each = first_of_rows || order_ == Order::kColumns;
  for (std::int64_t run = 0; run < all.num_runs; ++run) {
    const std::byte* begin = all.begin + run * all.stride_bytes;
    const std::byte* last = begin + all.run_bytes - 1;
    const auto offset =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(last) % kSmallPageBytes);
    if (each) fetch_line(begin);
    if (offset < all.run_bytes) fetch_line(last);  // a page begins in this run
  }
}

}  // namespace cmm::gemm
