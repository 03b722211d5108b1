// A view of y in panel blocks: what a multiply needs next is packed in pieces, into scratch that
// stays in cache, while it multiplies what it has (product.cpp).
//
// A strip is up to 256 bytes of a row of y [k, n], 2 panels of f32 or 4 of 16 bits, by a block of
// k. Wider, two of them would leave L2 no room for the sums; narrower, memory is read in runs too
// short for it.
#pragma once

#include <cstdint>

#include "base/integers.hpp"
#include "cmm/matrix.hpp"
#include "gemm/kernels.hpp"

namespace cmm::gemm {

inline constexpr int kMaxStripPanels = 4;
// From one panel block of a packed strip to the next.
inline constexpr std::int64_t kStripPanelBytes = std::int64_t{kBlockSteps} * kPanelColumns * 4;
inline constexpr std::int64_t kStripBytes = kMaxStripPanels * kStripPanelBytes;

inline int strip_panels(DType dtype) { return dtype_bytes(dtype) == 4 ? 2 : kMaxStripPanels; }

class Strip {
 public:
  struct Place {
    std::int64_t k0 = 0;  // even
    std::int64_t k = 0;   // at most kBlockSteps steps
    std::int64_t column = 0;
    int num_panels = 0;  // 1 .. strip_panels
  };
  Strip() = default;  // nothing to pack
  // y [k, n] of any strides; `out`, kStripBytes, 64-byte aligned, receives a block of each panel,
  // kStripPanelBytes apart: f32 [k][32], or pairs; columns past n are 0.
  Strip(const Kernels& kernels, const StridedMatrixRef& y, const Place& place, std::byte* out);

  // Units are packed in any order, each once: some rows or some columns of y.
  std::int64_t num_units() const { return num_units_; }
  void pack(Range units) const;

  // The memory that some units read: runs of bytes, a stride apart. No runs: of no regular shape.
  struct Memory {
    const std::byte* begin = nullptr;
    std::int64_t run_bytes = 0;
    std::int64_t num_runs = 0;
    std::int64_t stride_bytes = 0;
  };
  Memory memory(Range units) const;

  // Asks for all of it, so that its pages are looked up and its lines read side by side.
  void fetch() const;
  // Asks for a line of each run that may be the first in its page. Each look-up of a page in small
  // pages takes some 70 ns (measured on a virtual Zen 4: 4 to 5 % of 256 rows) if prefetches come
  // to one page after another among multiplications; together the processor does several at once.
  // `first_of_rows`: no strip beside this one has been fetched.
  void fetch_pages(bool first_of_rows) const;

 private:
  enum class Order { kRows, kColumns, kOther };  // in which y lies without gaps

  const std::byte* element(std::int64_t k, std::int64_t column) const;
  void pack_rows_of_y(Range units) const;
  void pack_columns_of_y(Range units) const;
  void pack_panel(std::int64_t panel) const;

  const TypeKernels* type_ = nullptr;
  StridedMatrixRef y_;
  Place place_;
  std::byte* out_ = nullptr;
  Order order_ = Order::kOther;
  std::int64_t num_units_ = 0;
};

}  // namespace cmm::gemm
