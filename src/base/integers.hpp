// Small integer helpers that more than one layer needs.
#pragma once

#include <cstdint>
#include <limits>

namespace cmm {

// a >= 0, b > 0; no intermediate is larger than a.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

// a * b, or -1 where the product leaves the range of int64. Both operands are >= 0.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  return b != 0 && a > std::numeric_limits<std::int64_t>::max() / b ? -1 : a * b;
}

// The integers from begin up to, not including, end.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr std::int64_t size() const { return end - begin; }
  friend bool operator==(Range, Range) = default;
};

// Part `i` of `total` things cut in `parts`: the first `total % parts` parts get one more.
constexpr Range even_part(std::int64_t total, std::int64_t parts, std::int64_t i) {
  const std::int64_t small = total / parts;
  const std::int64_t extra = total % parts;
  const std::int64_t begin = i * small + (i < extra ? i : extra);
  return {begin, begin + small + (i < extra ? 1 : 0)};
}

}  // namespace cmm
