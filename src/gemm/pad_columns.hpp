// Part of a y of any strides as rows of a panel's width.
#pragma once

#include <cstddef>

#include "cmm/matrix.hpp"

namespace cmm::gemm {

// Up to 32 columns of y to out [rows][32] of y's dtype; columns it lacks are 0.
void pad_columns(const StridedMatrixRef& y, std::byte* out);

}  // namespace cmm::gemm
