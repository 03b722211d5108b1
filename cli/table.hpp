// Text for people: aligned tables, and numbers with the unit that suits them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cmm::cli {

// Columns as wide as their widest cell, two spaces between. With a header, cells that start with a
// digit, sign or dot are flush right, save in the first column; without, all are flush left.
class Table {
 public:
  Table() = default;
  explicit Table(std::vector<std::string> header) : has_header_(true) {
    rows_.push_back(std::move(header));
  }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string str() const;

 private:
  bool has_header_ = false;
  std::vector<std::vector<std::string>> rows_;
};

std::string seconds_text(double seconds);    // "12.3 us"
std::string bytes_text(std::int64_t bytes);  // "234.9 MB", powers of 1000
std::string flops_text(double flops);        // per second: "412.1 GFLOP/s"
std::string rate_text(double bytes);         // per second: "31.2 GB/s"
std::string percent_text(double share);      // "93.1 %"
std::string fixed_text(double value, int digits);
std::string hash_text(std::uint64_t hash);  // 16 hexadecimal digits

}  // namespace cmm::cli
