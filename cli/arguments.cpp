#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "cmm/error.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

// Whether the whole word is one number.
template <class Number>
bool is_number(std::string_view word, Number& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

std::string allowed(IntRange range) {
  return range.max == std::numeric_limits<std::int64_t>::max()
             ? text("a whole number from ", range.min, " on")
             : text("a whole number from ", range.min, " to ", range.max);
}

}  // namespace

std::string quoted(std::string_view word) {
  constexpr std::size_t kShown = 60;
  std::string out = "'";
  for (char c : word.substr(0, kShown)) out += c >= ' ' && c != '\x7f' ? c : '?';
  return out + (word.size() > kShown ? "...'" : "'");
}

std::int64_t parse_int(std::string_view option, std::string_view word, IntRange range) {
  std::int64_t value = 0;
  if (!is_number(word, value) || value < range.min || value > range.max) {
    throw Error(ErrorCode::kInvalidArgument,
                text(option, " is ", quoted(word), "; give ", allowed(range)));
  }
  return value;
}

double parse_decimal(std::string_view option, std::string_view word, DecimalRange range) {
  double value = 0;
  // NaN is in no range.
  if (!is_number(word, value) || !(value >= range.min && value <= range.max)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        text(option, " is ", quoted(word), "; give a number from ", range.min, " to ", range.max));
  }
  return value;
}

std::uint64_t parse_seed(std::string_view option, std::string_view word) {
  std::uint64_t value = 0;
  if (!is_number(word, value)) {
    throw Error(ErrorCode::kInvalidArgument,
                text(option, " is ", quoted(word), "; give a whole number from 0 to ",
                     std::numeric_limits<std::uint64_t>::max()));
  }
  return value;
}

std::vector<std::int64_t> parse_rows(std::string_view option, std::string_view list) {
  std::vector<std::int64_t> rows;
  std::int64_t sum = 0;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    std::int64_t value = 0;
    if (!is_number(word, value) || value < 0) {
      throw Error(
          ErrorCode::kInvalidArgument,
          text(option, " ", quoted(list), " has ", quoted(word), " at place ", rows.size() + 1,
               "; give one whole number from 0 on per rank, with commas, as in 3,0,5"));
    }
    if (rows.size() == static_cast<std::size_t>(kMaxRanks)) {
      throw Error(ErrorCode::kInvalidArgument,
                  text(option, " has more than ", kMaxRanks, " entries; give at most ", kMaxRanks));
    }
    if (value > std::numeric_limits<std::int64_t>::max() - sum) {
      throw Error(ErrorCode::kInvalidArgument,
                  text(option, " ", quoted(list), " sums to more than ",
                       std::numeric_limits<std::int64_t>::max(), "; give fewer rows"));
    }
    sum += value;
    rows.push_back(value);
    if (comma == std::string_view::npos) return rows;
    rest.remove_prefix(comma + 1);
  }
}

Share even_share(std::int64_t total, std::int64_t parts, std::int64_t part) {
  const std::int64_t small = total / parts;
  const std::int64_t extra = total % parts;
  return {part * small + std::min(part, extra), small + (part < extra ? 1 : 0)};
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return b != 0 && a > kMax / b ? kMax : a * b;
}

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return a > kMax - b ? kMax : a + b;
}

}  // namespace cmm::cli
