// y packed once per layer into panels of 32 columns, the one copy every product reads.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "cmm/matrix.hpp"

namespace cmm::gemm {

// Bytes of one panel of `k` rows; a multiple of 64. -1 on overflow.
std::int64_t panel_bytes(DType dtype, std::int64_t k);

class Panels {
 public:
  Panels() = default;
  // y is [k, n] of any strides. Throws Error(kOutOfMemory).
  explicit Panels(const StridedMatrixRef& y);

  DType dtype() const { return dtype_; }
  std::int64_t k() const { return k_; }
  std::int64_t n() const { return n_; }
  std::int64_t num_panels() const { return num_panels_; }
  std::int64_t panel_bytes() const { return panel_bytes_; }
  std::int64_t bytes() const { return num_panels_ * panel_bytes_; }
  const std::byte* panel(std::int64_t p) const { return data_.data() + p * panel_bytes_; }

 private:
  DType dtype_ = DType::kF32;
  std::int64_t k_ = 0;
  std::int64_t n_ = 0;
  std::int64_t num_panels_ = 0;  // ceil(n / 32); columns past n are zero
  std::int64_t panel_bytes_ = 0;
  AlignedBuffer data_;
};

}  // namespace cmm::gemm
