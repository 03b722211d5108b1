#include "files/matrix_writer.hpp"

#include <span>

#include "cmm/error.hpp"
#include "files/messages.hpp"
#include "files/npy_header.hpp"
#include "files/safetensors_header.hpp"
#include "files/spec.hpp"
#include "files/tensor.hpp"

namespace cmm::files {
namespace {

// Throws unless the matrix is one that a file can hold with its header.
std::int64_t checked_data_bytes(const std::string& spec, DType dtype, std::int64_t rows,
                                std::int64_t cols) {
  constexpr std::int64_t kMaxDataBytes = std::int64_t{1} << 62;
  const std::int64_t bytes = rows < 0 || cols < 0 ? -1 : matrix_bytes(dtype, rows, cols);
  if (bytes < 0 || bytes > kMaxDataBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                cli::text(spec, ": cannot hold ", matrix_text(dtype, rows, cols),
                          "; sizes are >= 0 and the whole below 2^62 bytes"));
  }
  return bytes;
}

}  // namespace

MatrixWriter::MatrixWriter(const std::string& spec, DType dtype, std::int64_t rows,
                           std::int64_t cols)
    : dtype_(dtype), rows_(rows), cols_(cols) {
  const FileSpec file = parse_file_spec(spec);
  const std::int64_t data_bytes = checked_data_bytes(spec, dtype, rows, cols);
  const std::string header =
      file.format == Format::kNpy
          ? make_npy_header(dtype, rows, cols)
          : make_safetensors_header(file.tensor.value_or("out"), dtype, rows, cols);
  path_ = file.path;
  file_.emplace(path_, static_cast<std::int64_t>(header.size()) + data_bytes);
  file_->write(std::as_bytes(std::span(header)));
}

void MatrixWriter::write_rows(const ConstMatrixRef& block) {
  if (block.dtype != dtype_ || block.cols != cols_ || block.rows < 0 ||
      block.rows > rows_ - rows_written_) {
    throw Error(ErrorCode::kInvalidArgument,
                cli::text(path_, ": ", matrix_text(block.dtype, block.rows, block.cols),
                          " cannot be written after row ", rows_written_, " of ",
                          matrix_text(dtype_, rows_, cols_)));
  }
  rows_written_ += block.rows;
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(dtype_));
  const auto row_bytes = static_cast<std::size_t>(cols_ * elem_bytes);
  if (row_bytes == 0 || block.rows == 0) return;
  const auto* data = static_cast<const std::byte*>(block.data);
  if (block.row_stride == block.cols) {
    file_->write({data, static_cast<std::size_t>(block.rows) * row_bytes});
    return;
  }
  for (std::int64_t i = 0; i < block.rows; ++i) {
    file_->write({data + i * block.row_stride * elem_bytes, row_bytes});
  }
}

void MatrixWriter::commit() {
  if (rows_written_ != rows_) {
    throw Error(ErrorCode::kInvalidArgument, cli::text(path_, ": only ", rows_written_, " of ",
                                                       rows_, " rows have been written"));
  }
  file_->commit();
}

}  // namespace cmm::files
