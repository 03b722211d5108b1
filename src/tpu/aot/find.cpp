// Where the worker and libtpu are.
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "tpu/aot/worker.hpp"

namespace cmm::tpu::aot {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorker = "cmm-tpu-compile";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

// The folders of this program and of the library, which may be part of it.
std::vector<fs::path> own_folders() {
  std::vector<fs::path> folders;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(program.parent_path());
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&find_worker), &library) != 0 &&
      library.dli_fname != nullptr) {
    const fs::path path = fs::weakly_canonical(library.dli_fname, failed);
    if (!failed && is_file(path)) folders.push_back(path.parent_path());
  }
  return folders;
}

// libtpu.so where `path` is it or a folder that has it; else "".
std::string libtpu_at(const std::string& path) {
  if (is_file(path)) return path;
  for (const char* const inside : {"libtpu.so", "libtpu/libtpu.so"}) {
    if (const fs::path file = fs::path(path) / inside; is_file(file)) return file.string();
  }
  return "";
}

}  // namespace

std::string find_worker(const std::string& given) {
  for (const std::string& path : {given, variable("CMM_TPU_COMPILER")}) {
    if (path.empty()) continue;
    if (is_file(path)) return path;
    throw Error(ErrorCode::kUnsupported, cat("there is no program ", path));
  }
  std::vector<std::string> places;
  for (const fs::path& folder : own_folders()) {
    for (const fs::path& at : {folder / kWorker, folder / ".." / "libexec" / "cmm" / kWorker}) {
      if (is_file(at)) return at.lexically_normal().string();
      places.push_back(at.lexically_normal().string());
    }
  }
  throw Error(ErrorCode::kUnsupported,
              cat("the program ", kWorker, ", in which libtpu runs, is not at ",
                  joined(places, ", "), "; name it by the environment variable CMM_TPU_COMPILER"));
}

std::string find_libtpu(const std::string& given) {
  for (const std::string& path : {given, variable("CMM_LIBTPU")}) {
    if (path.empty()) continue;
    if (std::string found = libtpu_at(path); !found.empty()) return found;
    throw Error(ErrorCode::kUnsupported, cat("there is no libtpu at ", path,
                                             ": neither a file, nor a folder with libtpu.so "
                                             "or libtpu/libtpu.so"));
  }
  std::vector<std::string> places;
  for (const char* const prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string root = variable(prefix); !root.empty()) {
      places.push_back(root + "/lib/python3*/site-packages");
    }
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    places.push_back(home + "/.local/lib/python3*/site-packages");
  }
  for (const char* const root : {"/usr/local/lib/python3*", "/usr/lib/python3*"}) {
    for (const char* const packages : {"/site-packages", "/dist-packages"}) {
      places.push_back(cat(root, packages));
    }
  }
  for (const std::string& place : places) {
    const std::vector<std::string> found = matches(place + "/libtpu/libtpu.so");
    if (!found.empty()) return found.back();
  }
  throw Error(ErrorCode::kUnsupported,
              cat("libtpu is not installed in ", joined(places, ", "),
                  "; fetch it with tools/get_libtpu or `pip install libtpu`, or name it by the "
                  "environment variable CMM_LIBTPU"));
}

}  // namespace cmm::tpu::aot
