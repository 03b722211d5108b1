// Where tests find libtpu: tools/get_libtpu has put versions of it into the build tree, or not.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tpu/aot/compile.hpp"

namespace cmm::tpu::test {

inline constexpr const char* kOldestLibtpu = "0.0.24";
inline constexpr const char* kNewestLibtpu = "0.0.52";

// Path of libtpu.so, or "" where this version has not been fetched.
inline std::string libtpu(const std::string& version) {
  const std::string path = std::string(CMM_LIBTPU_DIRECTORY) + "/" + version + "/libtpu.so";
  return std::filesystem::exists(path) ? path : "";
}

#define CMM_SKIP_WITHOUT_LIBTPU(version)                                                     \
  if (cmm::tpu::test::libtpu(version).empty())                                               \
  GTEST_SKIP() << "libtpu " << (version) << " is not there; `tools/get_libtpu " << (version) \
               << " build/libtpu` fetches it"

inline aot::CompileOptions compile_options(const std::string& version) {
  aot::CompileOptions options;
  options.libtpu = libtpu(version);
  options.worker = CMM_WORKER;
  options.timeout_seconds = 120;
  return options;
}

}  // namespace cmm::tpu::test
