#include "files/matrix_file.hpp"

#include <span>

namespace cmm::files {
namespace {

// What lies next to each other in the file: `width` of `length` elements at a time.
struct Runs {
  std::int64_t first = 0;  // of the runs
  std::int64_t count = 0;
  std::int64_t begin = 0;  // in each of them
  std::int64_t width = 0;
  std::int64_t length = 0;
};

Runs runs_of(const StridedMatrixRef& view, const Block& b) {
  return view.col_stride == 1 ? Runs{b.first_row, b.rows, b.first_col, b.cols, view.cols}
                              : Runs{b.first_col, b.cols, b.first_row, b.rows, view.rows};
}

}  // namespace

Tensor MatrixFile::read() const { return read_block({0, view.rows, 0, view.cols}); }

Tensor MatrixFile::read_block(const Block& block) const {
  constexpr const char* kPurpose = "the matrix";
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(view.dtype));
  const Runs runs = runs_of(view, block);
  const std::int64_t run_bytes = runs.width * elem_bytes;
  const std::int64_t block_bytes = runs.count * run_bytes;
  Tensor tensor;
  tensor.storage = allocate_for(file.path(), block_bytes);
  tensor.description = description;
  tensor.view = view.col_stride == 1 ? StridedMatrixRef(tensor.storage.get(), view.dtype,
                                                        block.rows, block.cols, runs.width, 1)
                                     : StridedMatrixRef(tensor.storage.get(), view.dtype,
                                                        block.rows, block.cols, 1, runs.width);
  const std::span<std::byte> into(tensor.storage.get(), static_cast<std::size_t>(block_bytes));
  if (runs.width == runs.length) {
    file.read(data_offset + runs.first * run_bytes, into, kPurpose);
    return tensor;
  }
  for (std::int64_t i = 0; i < runs.count && run_bytes > 0; ++i) {
    const std::int64_t at = (runs.first + i) * runs.length + runs.begin;
    file.read(
        data_offset + at * elem_bytes,
        into.subspan(static_cast<std::size_t>(i * run_bytes), static_cast<std::size_t>(run_bytes)),
        kPurpose);
  }
  return tensor;
}

}  // namespace cmm::files
