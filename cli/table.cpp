#include "table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace cmm::cli {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Three or four digits: what a reader compares.
std::string scaled(double value, const std::vector<Unit>& units) {
  const Unit* unit = &units.back();
  for (const Unit& u : units) {
    if (std::fabs(value) >= u.size) {
      unit = &u;
      break;
    }
  }
  const double shown = value / unit->size;
  return fixed_text(shown, std::fabs(shown) < 10    ? 3
                           : std::fabs(shown) < 100 ? 2
                                                    : 1) +
         " " + unit->name;
}

bool is_number(const std::string& cell) {
  return !cell.empty() &&
         (std::isdigit(static_cast<unsigned char>(cell[0])) || cell[0] == '-' || cell[0] == '.');
}

}  // namespace

std::string Table::str() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += has_header_ && c > 0 && is_number(row[c]) ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string fixed_text(double value, int digits) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return buffer.data();
}

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  return scaled(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}
std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  return scaled(static_cast<double>(bytes),
                {{1e18, "EB"}, {1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}});
}
std::string flops_text(double flops) {
  return scaled(flops, {{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}, {1, "FLOP/s"}});
}
std::string rate_text(double bytes) {
  return scaled(bytes, {{1e9, "GB/s"}, {1e6, "MB/s"}, {1, "B/s"}});
}
std::string percent_text(double share) { return fixed_text(100 * share, 1) + " %"; }

std::string hash_text(std::uint64_t hash) {
  std::array<char, 17> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%016llx", static_cast<unsigned long long>(hash));
  return buffer.data();
}

}  // namespace cmm::cli
