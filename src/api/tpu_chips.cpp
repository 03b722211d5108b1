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
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad() || errno == EISDIR) {
    throw Error(ErrorCode::kIo, cat(path, ": cannot be read", errno == 0 ? "" : ": ",
                                    errno == 0 ? "" : std::strerror(errno)));
  }
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
