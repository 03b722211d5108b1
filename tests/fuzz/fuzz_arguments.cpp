#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "cmm/error.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// A word is read, or refused in one printable line.
template <class Parse>
void parse_or_refuse(const Parse& parse) {
  try {
    parse();
  } catch (const cmm::Error& error) {
    require(error.code() == cmm::ErrorCode::kInvalidArgument);
    const std::string message = error.what();
    require(std::none_of(message.begin(), message.end(), [](char c) { return c == '\n'; }));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view word(reinterpret_cast<const char*>(data), size);
  parse_or_refuse([&] {
    const std::int64_t value = cmm::cli::parse_int("--m", word, {0, 1000});
    require(value >= 0 && value <= 1000);
  });
  parse_or_refuse([&] { cmm::cli::parse_seed("--seed", word); });
  parse_or_refuse([&] {
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    const auto rows = cmm::cli::parse_rows("--rows", word);
    require(!rows.empty() && rows.size() <= std::size_t{cmm::kMaxRanks});
    for (const std::int64_t n : rows) {
      require(n >= 0 && n <= left);
      left -= n;
    }
  });
  return 0;
}
