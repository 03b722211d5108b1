// The words of a command line to values. Pure functions: no state, no output. All throw
// Error(kInvalidArgument) whose one line names the option, the text, and what would be right.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/error.hpp"
#include "cmm/mesh.hpp"
#include "text.hpp"

namespace cmm::cli {

// For messages: long or binary text must not flood them or break their one line.
std::string quoted(std::string_view word);

struct IntRange {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

// A decimal whole number inside `range`; the whole text must be one.
std::int64_t parse_int(std::string_view option, std::string_view text, IntRange range);

struct DecimalRange {
  double min = 0;
  double max = 0;
};

// A decimal number inside `range`, as in 10 or 0.5; the whole text must be one.
double parse_decimal(std::string_view option, std::string_view text, DecimalRange range);

std::uint64_t parse_seed(std::string_view option, std::string_view text);

// What `parse` makes of a name, or its Error with the option named first.
template <class Parse>
auto parse_name(std::string_view option, std::string_view name, Parse parse) {
  try {
    return parse(name);
  } catch (const Error& error) {
    throw Error(error.code(), text(option, ": ", error.what()));
  }
}

// "3,0,5": one whole number >= 0 per rank, 1 .. kMaxRanks of them, whose sum fits int64.
std::vector<std::int64_t> parse_rows(std::string_view option, std::string_view text);

// Part `part` of `total` things cut into `parts`: the first total % parts parts get one more.
struct Share {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};
Share even_share(std::int64_t total, std::int64_t parts, std::int64_t part);

// a * b of two numbers >= 0, or the largest int64 where the product does not fit.
std::int64_t saturating_product(std::int64_t a, std::int64_t b);
std::int64_t saturating_sum(std::int64_t a, std::int64_t b);

}  // namespace cmm::cli
