#include "tagged_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "cmm/error.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(ErrorCode::kIo,
                  text("cannot pass on what the ranks print: ", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

TaggedOutput::Pipes TaggedOutput::add(int rank) {
  files::UniqueFd out = add_stream(rank, STDOUT_FILENO);
  return {std::move(out), add_stream(rank, STDERR_FILENO)};
}

files::UniqueFd TaggedOutput::add_stream(int rank, int to) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kIo,
                text("no pipe for the output of rank ", rank, ": ", std::strerror(errno)));
  }
  files::UniqueFd from(ends[0]);
  files::UniqueFd of_rank(ends[1]);
  fcntl(from.get(), F_SETFL, O_NONBLOCK);
  streams_.push_back({std::move(from), to, text('[', rank, "] "), {}, false});
  return of_rank;
}

void TaggedOutput::add_to(std::vector<pollfd>& polled) const {
  for (const Stream& stream : streams_) polled.push_back({stream.from.get(), POLLIN, 0});
}

// Tag and line leave in one write, so that lines of two ranks are not mixed.
bool TaggedOutput::read_some(Stream& stream) {
  std::array<char, 65536> bytes;
  const ssize_t count = ::read(stream.from.get(), bytes.data(), bytes.size());
  if (count < 0) return false;
  std::string lines;
  for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(count))) {
    stream.line += c;
    if (c == '\n') lines += stream.tag + std::exchange(stream.line, {});
  }
  write_all(stream.to, lines);
  stream.ended = count == 0;
  return true;
}

void TaggedOutput::pass_on() {
  for (Stream& stream : streams_) {
    read_some(stream);
    if (stream.ended && !stream.line.empty()) write_all(stream.to, stream.tag + stream.line + '\n');
  }
  std::erase_if(streams_, [](const Stream& stream) { return stream.ended; });
}

void TaggedOutput::drain() {
  for (Stream& stream : streams_) {
    while (!stream.ended && read_some(stream)) {
    }
    stream.ended = true;
  }
  pass_on();
}

}  // namespace cmm::cli
