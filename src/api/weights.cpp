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

namespace {

void check(const StridedMatrixRef& y, const PackOptions& options) {
  const std::int64_t n = options.transposed ? y.rows : y.cols;
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
  if (bias_size != 0 && bias_size != n) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the bias has ", bias_size, " elements, y has n=", n, " columns"));
  }
}

}  // namespace

Weights Weights::pack(const StridedMatrixRef& y, const PackOptions& options) {
  check(y, options);
  const StridedMatrixRef kn = options.transposed ? y.transposed() : y;
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
  if (!options.bias.empty()) {
    std::shared_ptr<float[]> bias(new float[options.bias.size()]);
    std::copy(options.bias.begin(), options.bias.end(), bias.get());
    weights.bias_ = std::move(bias);
  }
  return weights;
}

Weights Weights::view(const StridedMatrixRef& y, const PackOptions& options) {
  check(y, options);
  if (options.engine == Engine::kOneDnn) {
    throw Error(ErrorCode::kUnsupported,
                "a view of y is multiplied by our own kernels; engine onednn needs y in its own "
                "layout: Weights::pack makes it");
  }
  Weights weights;
  weights.viewed_ = options.transposed ? y.transposed() : y;
  weights.is_view_ = true;
  weights.k_ = weights.viewed_.rows;
  weights.n_ = weights.viewed_.cols;
  weights.dtype_ = weights.viewed_.dtype;
  if (!options.bias.empty()) {
    // Without an owner: nothing is allocated and nothing freed.
    weights.bias_ = std::shared_ptr<const float[]>(std::shared_ptr<void>(), options.bias.data());
  }
  return weights;
}

std::int64_t Weights::bytes() const {
  return library_ ? library_->bytes() : panels_ ? panels_->bytes() : 0;
}

}  // namespace cmm
