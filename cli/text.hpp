// Builds the text of messages: text("rank ", 3, " has ", rows, " rows").
#pragma once

#include <sstream>
#include <string>

namespace cmm::cli {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace cmm::cli
