// The chips of the library and of a user's file.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_kernel.hpp"
#include "sim/chips.hpp"

namespace cmm::tpu {
namespace {

std::string content_of(const std::string& path) {
  const auto fail = [&path](int error) {
    throw Error(ErrorCode::kIo, cat(path, ": cannot be read", error == 0 ? "" : ": ",
                                    error == 0 ? "" : std::strerror(error)));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) fail(errno);
  std::string text;
  try {  // the buffer of a folder throws, whatever the stream's exceptions() say
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {
    fail(errno);
  }
  if (file.bad()) fail(errno);
  return text;
}

}  // namespace

const std::vector<Chip>& chips() { return sim::builtin_chips(); }

const Chip& chip(std::string_view name) { return sim::find_chip(chips(), name); }

std::vector<Chip> read_chips(const std::string& path) {
  const std::string text = content_of(path);
  try {
    return sim::parse_chips(text);
  } catch (const Error& error) {
    throw Error(error.code(), cat(path, ": ", error.what()));
  }
}

std::string chips_text() { return std::string(sim::builtin_chips_text()); }

}  // namespace cmm::tpu
