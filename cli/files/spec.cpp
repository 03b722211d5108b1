#include "files/spec.hpp"

#include <sys/stat.h>

#include <string_view>

#include "cmm/error.hpp"
#include "files/messages.hpp"

namespace cmm::files {
namespace {
[[noreturn]] void throw_bad_spec(const std::string& spec, std::string_view what) {
  throw Error(ErrorCode::kInvalidArgument, cli::text(in_quotes(spec), ": ", what));
}
}  // namespace

FileSpec parse_file_spec(const std::string& spec) {
  constexpr std::string_view kSafetensors = ".safetensors";
  if (spec.find('\0') != std::string::npos) throw_bad_spec(spec, "a path holds no zero byte");
  if (spec.ends_with(".npy")) return {.path = spec, .format = Format::kNpy, .tensor = {}};
  if (spec.ends_with(kSafetensors)) {
    return {.path = spec, .format = Format::kSafetensors, .tensor = {}};
  }
  // The first ".safetensors:" ends the path: paths and tensor names may both hold colons.
  const std::size_t colon = spec.find(std::string(kSafetensors) + ":");
  if (colon != std::string::npos) {
    const std::size_t path_size = colon + kSafetensors.size();
    std::string tensor = spec.substr(path_size + 1);
    if (tensor.empty()) throw_bad_spec(spec, "the name of a tensor is missing after ':'");
    return {.path = spec.substr(0, path_size),
            .format = Format::kSafetensors,
            .tensor = std::move(tensor)};
  }
  if (spec.find(".npy:") != std::string::npos) {
    throw_bad_spec(spec, "a .npy file holds one array without a name; give the path alone");
  }
  throw_bad_spec(spec, "unknown kind of file; give FILE.npy or FILE.safetensors:TENSOR");
}

bool same_file(const std::string& spec_a, const std::string& spec_b) {
  struct stat a, b;
  if (::stat(parse_file_spec(spec_a).path.c_str(), &a) != 0) return false;
  if (::stat(parse_file_spec(spec_b).path.c_str(), &b) != 0) return false;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace cmm::files
