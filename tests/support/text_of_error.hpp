// What a body that is expected to fail is told.
#pragma once

#include <functional>
#include <string>

#include "cmm/error.hpp"

namespace cmm::test {

// "" where it returned.
inline std::string text_of_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace cmm::test
