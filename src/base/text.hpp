// Builds the text of messages: cat("rank ", 3, " has ", rows, " rows").
#pragma once

#include <sstream>
#include <string>

namespace cmm {

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace cmm
