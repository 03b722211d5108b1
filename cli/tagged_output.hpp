// What many processes print, passed on line by line with the number of the rank before each.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include "files/unique_fd.hpp"

namespace cmm::cli {

class TaggedOutput {
 public:
  // The ends that the rank writes into; they are to be its standard output and error.
  struct Pipes {
    files::UniqueFd out;
    files::UniqueFd err;
  };
  // Throws Error(kIo) where there are no more descriptors.
  Pipes add(int rank);

  void add_to(std::vector<pollfd>& polled) const;
  // Whole lines of what has come, 64 KiB of each stream at most. Never waits for a rank; throws
  // Error(kIo) where standard output or error takes no more.
  void pass_on();
  // The rest, when no rank is left to write; a last line without its end gets one.
  void drain();

 private:
  struct Stream {
    files::UniqueFd from;
    int to = -1;
    std::string tag;
    std::string line;  // as far as it has come
    bool ended = false;
  };
  files::UniqueFd add_stream(int rank, int to);
  // Whether there was something: bytes or the end.
  static bool read_some(Stream& stream);

  std::vector<Stream> streams_;  // those that have not ended
};

}  // namespace cmm::cli
