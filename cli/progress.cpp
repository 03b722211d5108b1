#include "progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "table.hpp"

namespace cmm::cli {

Progress::Progress(bool is_shown)
    : on_terminal_(is_shown && isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + std::chrono::milliseconds(500)) {}

void Progress::clear() {
  if (shown_width_ > 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(shown_width_), "");
  shown_width_ = 0;
}

void Progress::show(const std::string& what, double share_done) {
  if (!on_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  std::string line = what + " " + percent_text(share_done);
  const std::size_t width = line.size();
  if (line.size() < shown_width_) line.append(shown_width_ - line.size(), ' ');
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
  shown_width_ = width;
}

}  // namespace cmm::cli
