// What many processes print, passed on line by line with the number of the rank before each.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "files/unique_fd.hpp"

namespace cmm::cli {

// A longer line is passed on in pieces of this size, each as a line of its own.
inline constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

// Waits neither for a rank nor for a reader of what is passed on: where that one is slow, ranks are
// not read from, and so are slowed down in turn; no more than some 64 KiB of each stream and 1 MiB
// in all are kept.
class TaggedOutput {
 public:
  // The ends that the rank writes into; they are to be its standard output and error.
  struct Pipes {
    files::UniqueFd out;
    files::UniqueFd err;
  };
  // Throws Error(kIo) where there are no more descriptors.
  Pipes add(int rank);

  // What there is to wait for.
  void add_to(std::vector<pollfd>& polled) const;
  // Whole lines of what has come. Throws Error(kIo) where standard output or error is closed.
  void pass_on();
  // No rank is left to write: what is in the pipes is all that will come, and a last line without
  // its end gets one. pass_on() until all_passed_on().
  void no_more_comes() { more_comes_ = false; }
  bool all_passed_on() const;

 private:
  // Standard output or error.
  struct Sink {
    int to = -1;
    std::string waiting;     // lines that it has not taken
    std::size_t passed = 0;  // of them
    std::size_t num_waiting() const { return waiting.size() - passed; }
  };
  struct Stream {
    files::UniqueFd from;
    std::size_t sink = 0;
    std::string tag;
    std::string line;  // as far as it has come
    bool ended = false;
  };
  files::UniqueFd add_stream(int rank, std::size_t sink);
  bool has_room(const Stream& stream) const;
  void read_some(Stream& stream);
  static void end_line(Stream& stream, Sink& sink);
  static void write_some(Sink& sink);

  std::array<Sink, 2> sinks_;
  std::vector<Stream> streams_;  // those that have not ended
  std::size_t first_ = 0;        // read from first: each in turn, as room may end with it
  bool more_comes_ = true;
};

}  // namespace cmm::cli
