// The errors of this folder: which file, where in it, and what is wrong there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text.hpp"

namespace cmm::files {

// `text` in single quotes, for a message: control and non-ASCII bytes as \xNN (a file's content
// must not steer the terminal), cut after 120 bytes.
std::string in_quotes(std::string_view text);

// "[3, 4]"
template <class Dims>
std::string shape_text(const Dims& dims) {
  return cli::text("[", cli::joined(dims, ", "), "]");
}

// Throw Error(kBadFile): "PATH: WHAT", or with the offset from the start of the file.
[[noreturn]] void throw_bad_file(const std::string& path, const std::string& what);
[[noreturn]] void throw_bad_file_at(const std::string& path, std::int64_t offset_bytes,
                                    const std::string& what);

// Throws Error(kIo): "PATH: WHAT", and the system's words for `error_number`.
[[noreturn]] void throw_io(const std::string& path, const std::string& what, int error_number);

}  // namespace cmm::files
