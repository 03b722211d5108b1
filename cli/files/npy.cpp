#include "files/npy.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "files/input_file.hpp"
#include "files/messages.hpp"
#include "files/npy_header.hpp"

namespace cmm::files {
namespace {
static_assert(std::endian::native == std::endian::little, "elements are read as they lie");

// numpy pads the header to 64 bytes and refuses to read one above 10,000 bytes by default; only
// structured types, which are refused here, need more than some hundred.
constexpr std::int64_t kMaxHeaderBytes = 65536;

// What stands before the header's text: magic, version, and the text's length in two bytes
// (version 1) or four.
struct Prefix {
  std::int64_t bytes;
  std::int64_t text_bytes;
};

Prefix read_prefix(const InputFile& file) {
  std::array<std::byte, 12> head{};
  file.read(0, std::span(head).first(8), "the magic and version of a .npy file");
  if (std::memcmp(head.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    throw_bad_file_at(file.path(), 0, "not a .npy file: it does not begin with \\x93NUMPY");
  }
  const int major = std::to_integer<int>(head[6]);
  const int minor = std::to_integer<int>(head[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw_bad_file_at(
        file.path(), 6,
        cli::text("version ", major, ".", minor, " of .npy; known are 1.0, 2.0, 3.0"));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  file.read(8, std::span(head).subspan(8, length_bytes), "the header's length");
  std::uint32_t text_bytes = 0;
  std::memcpy(&text_bytes, head.data() + 8, length_bytes);

  const auto prefix_bytes = static_cast<std::int64_t>(8 + length_bytes);
  if (text_bytes > kMaxHeaderBytes || text_bytes > file.bytes() - prefix_bytes) {
    throw_bad_file_at(file.path(), 8,
                      cli::text("the header claims ", text_bytes, " bytes; the file has ",
                                file.bytes() - prefix_bytes, " after this, and more than ",
                                kMaxHeaderBytes, " are never read"));
  }
  return {.bytes = prefix_bytes, .text_bytes = text_bytes};
}

}  // namespace

MatrixFile open_npy(const std::string& path) {
  InputFile file(path);
  const Prefix prefix = read_prefix(file);
  std::string text(static_cast<std::size_t>(prefix.text_bytes), '\0');
  file.read(prefix.bytes, std::as_writable_bytes(std::span(text)), "the header");
  const NpyHeader header = parse_npy_header(path, prefix.bytes, text);

  if (header.shape.size() != 2) {
    throw_bad_file(path, cli::text("holds an array of ", header.shape.size(), " dimensions, ",
                                   shape_text(header.shape), "; a matrix [rows, cols] is needed"));
  }
  const std::int64_t rows = header.shape[0];
  const std::int64_t cols = header.shape[1];
  const std::int64_t data_bytes = matrix_bytes(header.dtype, rows, cols);
  const std::int64_t data_offset = prefix.bytes + prefix.text_bytes;
  const std::string description = matrix_text(header.dtype, rows, cols);
  if (data_bytes < 0) {
    throw_bad_file_at(path, prefix.bytes, cli::text("the size of ", description, " overflows"));
  }
  if (data_bytes != file.bytes() - data_offset) {
    throw_bad_file_at(path, data_offset,
                      cli::text(description, " takes ", data_bytes, " bytes; the file has ",
                                file.bytes() - data_offset, " after its header"));
  }

  return {.file = std::move(file),
          .data_offset = data_offset,
          .data_bytes = data_bytes,
          .view = header.fortran_order
                      ? StridedMatrixRef(nullptr, header.dtype, rows, cols, 1, rows)
                      : StridedMatrixRef(nullptr, header.dtype, rows, cols, cols, 1),
          .description = cli::text(description, " of ", path)};
}

}  // namespace cmm::files
