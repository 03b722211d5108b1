// Few rows: the weights are streamed once, several panels side by side.
#include <algorithm>

#include "base/check.hpp"
#include "gemm/output.hpp"
#include "gemm/product.hpp"

namespace cmm::gemm {

int max_decode_rows(const Kernels& kernels, DType dtype) {
  return kernels.type(dtype).max_decode_rows;
}

void multiply_decode(const Product& product, const std::byte* packed_x, std::int64_t m,
                     ColumnRange columns, Workspace& workspace) {
  const TypeKernels& type = product.kernels->type(product.dtype);
  CMM_DCHECK(m <= type.max_decode_rows);
  if (m == 0) return;
  const int num_sides = product.swiglu ? 2 : 1;
  for (std::int64_t first = columns.first_panel; first < columns.last_panel;
       first += kMaxDecodePanels) {
    const auto num_panels =
        static_cast<int>(std::min<std::int64_t>(kMaxDecodePanels, columns.last_panel - first));
    const std::int64_t acc_stride = std::int64_t{kPanelColumns} * num_panels;
    float* acc[2] = {workspace.accumulators(), workspace.accumulators() + m * acc_stride};
    for (int s = 0; s < num_sides; ++s) {
      const Panels& y = *product.sides[static_cast<std::size_t>(columns.side + s)].y;
      type.decode({.x = packed_x,
                   .rows = static_cast<int>(m),
                   .panels = y.panel(first),
                   .panel_bytes = y.panel_bytes(),
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
