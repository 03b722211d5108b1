// y, packed once per layer, or referred to where it lies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "cmm/matrix.hpp"

namespace cmm {

namespace gemm {
class Panels;
class LibraryMatrix;
}  // namespace gemm

// Who multiplies. kOwn: our kernels, whose result is defined bit by bit (docs/numerics.md).
// kOneDnn: the oneDNN library, which promises no bits. kAuto: oneDNN on a processor with AMX where
// this build has it, else our own.
enum class Engine : std::uint8_t { kAuto, kOwn, kOneDnn };

std::string_view engine_name(Engine engine);  // "auto", "own", "onednn"
Engine parse_engine(std::string_view name);   // throws Error(kInvalidArgument)
bool engine_available(Engine engine);         // in this build

struct PackOptions {
  bool transposed = false;           // y is given as [n, k], as PyTorch stores a linear layer
  std::span<const float> bias = {};  // [n], added to every row of the product; empty: none
  Engine engine = Engine::kAuto;
};

// One rank's columns of one right side: y [k, n_local], packed or a view. Immutable; copies share
// the memory. A plan takes either, and right sides of both kinds in one call.
class Weights {
 public:
  // Copies y into panels; y is not needed afterwards. Not collective. Throws
  // Error(kInvalidArgument) on negative extents, a null pointer, or a bias of another length than
  // n, Error(kOutOfMemory), Error(kUnsupported) for an engine this build lacks.
  static Weights pack(const StridedMatrixRef& y, const PackOptions& options = {});

  // Refers to y, and to the bias, where they lie: for a y that comes anew with each call. Copies
  // and allocates nothing; both must stay, unchanged, while a call uses them, and no call touches
  // them once it has returned or thrown. Each call packs y block by block in cache, or multiplies
  // up to 8 rows without packing, by our own kernels, with the bits of packed weights. kAuto is
  // kOwn here. Not collective. Throws Error(kInvalidArgument) as pack does, Error(kUnsupported) for
  // kOneDnn, which needs its own layout of y.
  static Weights view(const StridedMatrixRef& y, const PackOptions& options = {});

  std::int64_t k() const { return k_; }
  std::int64_t n() const { return n_; }
  DType dtype() const { return dtype_; }
  Engine engine() const { return library_ ? Engine::kOneDnn : Engine::kOwn; }
  std::int64_t bytes() const;  // held, of packed y; 0 for a view

  // For the library itself.
  const gemm::Panels* panels() const { return panels_.get(); }
  const gemm::LibraryMatrix* library() const { return library_.get(); }
  const StridedMatrixRef* viewed() const { return is_view_ ? &viewed_ : nullptr; }  // [k, n]
  const float* bias() const { return bias_.get(); }

 private:
  Weights() = default;
  std::int64_t k_ = 0;
  std::int64_t n_ = 0;
  DType dtype_ = DType::kF32;
  std::shared_ptr<const gemm::Panels> panels_;          // own engine
  std::shared_ptr<const gemm::LibraryMatrix> library_;  // library engine
  bool is_view_ = false;
  StridedMatrixRef viewed_;              // of a view
  std::shared_ptr<const float[]> bias_;  // a view's belongs to the caller
};

}  // namespace cmm
