#include "cmm/weights.hpp"

#include <algorithm>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "gemm/library/library.hpp"
#include "gemm/panels.hpp"

namespace cmm {

std::string_view engine_name(Engine engine) {
  switch (engine) {
    case Engine::kAuto:
      return "auto";
    case Engine::kOwn:
      return "own";
    case Engine::kOneDnn:
      return "onednn";
  }
  return "unknown";
}

Engine parse_engine(std::string_view name) {
  for (const Engine engine : {Engine::kAuto, Engine::kOwn, Engine::kOneDnn}) {
    if (name == engine_name(engine)) return engine;
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("unknown engine '", name, "'; known are auto, own, onednn"));
}

bool engine_available(Engine engine) {
  return engine != Engine::kOneDnn || gemm::LibraryMatrix::available();
}

Weights Weights::pack(const StridedMatrixRef& y, const PackOptions& options) {
  const StridedMatrixRef kn = options.transposed ? y.transposed() : y;
  const char* const layout = options.transposed ? "[n, k]" : "[k, n]";
  if (y.rows < 0 || y.cols < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("y ", layout, " is [", y.rows, ", ", y.cols, "]; extents must be >= 0"));
  }
  const std::int64_t elems = checked_product(y.rows, y.cols);
  if (elems < 0 || checked_product(elems, 4) < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("y ", layout, " is [", y.rows, ", ", y.cols, "]: its size overflows"));
  }
  if (y.data == nullptr && elems > 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("y ", layout, " is [", y.rows, ", ", y.cols, "] at a null pointer"));
  }
  const auto bias_size = static_cast<std::int64_t>(options.bias.size());
  if (bias_size != 0 && bias_size != kn.cols) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the bias has ", bias_size, " elements, y has n=", kn.cols, " columns"));
  }
  Weights weights;
  weights.k_ = kn.rows;
  weights.n_ = kn.cols;
  weights.dtype_ = kn.dtype;
  if (options.engine == Engine::kOneDnn ||
      (options.engine == Engine::kAuto && gemm::LibraryMatrix::preferred(kn.dtype))) {
    weights.library_ = std::make_shared<const gemm::LibraryMatrix>(kn);
  } else {
    weights.panels_ = std::make_shared<const gemm::Panels>(kn);
  }
  if (bias_size != 0) {
    std::shared_ptr<float[]> bias(new float[options.bias.size()]);
    std::copy(options.bias.begin(), options.bias.end(), bias.get());
    weights.bias_ = std::move(bias);
  }
  return weights;
}

std::int64_t Weights::bytes() const { return library_ ? library_->bytes() : panels_->bytes(); }

}  // namespace cmm
