// Builds the text of messages: text("rank ", 3, " has ", rows, " rows").
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace cmm::cli {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

// "2x4" of joined(mesh, "x"). What stands for an item is the item itself or what `text_of` makes of
// it: a member, or a function to anything that text() takes.
template <class Range, class TextOf = std::identity>
std::string joined(const Range& range, std::string_view separator, const TextOf& text_of = {}) {
  std::ostringstream out;
  bool is_first = true;
  for (const auto& item : range) {
    if (!std::exchange(is_first, false)) out << separator;
    out << std::invoke(text_of, item);
  }
  return std::move(out).str();
}

}  // namespace cmm::cli
