#include "files/messages.hpp"

#include <system_error>

#include "cmm/error.hpp"

namespace cmm::files {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxBytes = 120;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + (text.size() > kMaxBytes ? "...'" : "'");
}

void throw_bad_file(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadFile, cli::text(path, ": ", what));
}

void throw_bad_file_at(const std::string& path, std::int64_t offset_bytes,
                       const std::string& what) {
  throw Error(ErrorCode::kBadFile, cli::text(path, ": byte ", offset_bytes, ": ", what));
}

void throw_io(const std::string& path, const std::string& what, int error_number) {
  throw Error(ErrorCode::kIo,
              cli::text(path, ": ", what, ": ", std::generic_category().message(error_number)));
}

}  // namespace cmm::files
