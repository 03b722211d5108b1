// What the tests of files share: a folder of their own, whole files as strings, errors as text.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cmm/error.hpp"
#include "cmm/matrix.hpp"
#include "support/scratch.hpp"

namespace cmm::files {

class InTemporaryFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return scratch_.file(name); }

  // Returns the file's path.
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> names() const { return scratch_.names(); }

  test::Scratch scratch_;
};

// Runs `call` as a user whom permissions bind: root, whom they do not, becomes nobody for it. False
// where that is not possible; `call` has not run then.
template <class Call>
bool without_root(const Call& call) {
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root && ::seteuid(kNobody) != 0) return false;
  call();
  if (is_root && ::seteuid(0) != 0) throw std::runtime_error("cannot become root again");
  return true;
}

// "CODE: MESSAGE" of the Error that `call` throws; "no error" where it throws none.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error_code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != text.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

// All elements in row order, through the strides.
inline std::vector<float> values(const StridedMatrixRef& m) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.cols; ++j) {
      const std::int64_t at = i * m.row_stride + j * m.col_stride;
      switch (m.dtype) {
        case DType::kF32:
          out.push_back(static_cast<const float*>(m.data)[at]);
          break;
        case DType::kBF16:
          out.push_back(to_float(static_cast<const BFloat16*>(m.data)[at]));
          break;
        case DType::kF16:
          out.push_back(to_float(static_cast<const Float16*>(m.data)[at]));
          break;
      }
    }
  }
  return out;
}

// A .npy file, byte by byte: `version` 1 has a two-byte length, 2 and 3 a four-byte one.
inline std::string npy_bytes(int version, const std::string& header, const std::string& data) {
  std::string file = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return file + header + data;
}

// A .safetensors file, byte by byte.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + data;
}

}  // namespace cmm::files
