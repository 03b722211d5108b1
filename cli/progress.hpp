// A line on the terminal that says how far long work is.
#pragma once

#include <chrono>
#include <string>

namespace cmm::cli {

// Writes to standard error, only where that is a terminal and not before the work has lasted half
// a second; clear() and the destructor wipe the line. Used by one thread at a time.
class Progress {
 public:
  explicit Progress(bool is_shown);  // of many processes one shows it
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& what, double share_done);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_terminal_;
  Clock::time_point next_;
  std::size_t shown_width_ = 0;
};

}  // namespace cmm::cli
