// The build without a library engine.
#include <stdexcept>

#include "cmm/error.hpp"
#include "gemm/library/library.hpp"

namespace cmm::gemm {

struct LibraryMatrix::Packed {};
struct LibraryProducts::Prepared {};

bool LibraryMatrix::available() { return false; }
bool LibraryMatrix::preferred(DType) { return false; }

LibraryMatrix::LibraryMatrix(const StridedMatrixRef&) {
  throw Error(ErrorCode::kUnsupported,
              "this build has no oneDNN engine; install the Debian packages libdnnl-dev and "
              "ocl-icd-opencl-dev and configure it again with -DCMM_ONEDNN=ON");
}
LibraryMatrix::~LibraryMatrix() = default;
std::int64_t LibraryMatrix::bytes() const { return 0; }

LibraryProducts::LibraryProducts() = default;
LibraryProducts::~LibraryProducts() = default;

void LibraryProducts::multiply(const Args&) {
  throw std::logic_error("broken invariant: no library matrix exists in this build");
}

}  // namespace cmm::gemm
