#include "tagged_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "cmm/error.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
// Nothing is read for a sink that has this much to pass on.
constexpr std::size_t kFullBytes = std::size_t{256} << 10;
// A descriptor that is ready takes so much without making the writer wait.
constexpr std::size_t kWriteBytes = PIPE_BUF;

bool takes_more(int to) {
  pollfd polled = {to, POLLOUT, 0};
  return poll(&polled, 1, 0) == 1;
}

}  // namespace

TaggedOutput::Pipes TaggedOutput::add(int rank) {
  sinks_[0].to = STDOUT_FILENO;
  sinks_[1].to = STDERR_FILENO;
  files::UniqueFd out = add_stream(rank, 0);
  return {std::move(out), add_stream(rank, 1)};
}

files::UniqueFd TaggedOutput::add_stream(int rank, std::size_t sink) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kIo,
                text("no pipe for the output of rank ", rank, ": ", std::strerror(errno)));
  }
  files::UniqueFd from(ends[0]);
  files::UniqueFd of_rank(ends[1]);
  fcntl(from.get(), F_SETFL, O_NONBLOCK);
  streams_.push_back({std::move(from), sink, text('[', rank, "] "), {}, false});
  return of_rank;
}

bool TaggedOutput::has_room(const Stream& stream) const {
  return sinks_[stream.sink].num_waiting() < kFullBytes;
}

void TaggedOutput::add_to(std::vector<pollfd>& polled) const {
  for (const Sink& sink : sinks_) {
    if (sink.num_waiting() > 0) polled.push_back({sink.to, POLLOUT, 0});
  }
  for (const Stream& stream : streams_) {
    if (has_room(stream)) polled.push_back({stream.from.get(), POLLIN, 0});
  }
}

void TaggedOutput::end_line(Stream& stream, Sink& sink) {
  sink.waiting += stream.tag + std::exchange(stream.line, {}) + '\n';
}

void TaggedOutput::read_some(Stream& stream) {
  if (!has_room(stream)) return;
  std::array<char, kReadBytes> bytes;
  const ssize_t count = ::read(stream.from.get(), bytes.data(), bytes.size());
  stream.ended = count == 0 || (count < 0 && errno == EAGAIN && !more_comes_);
  Sink& sink = sinks_[stream.sink];
  if (count > 0) {
    for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(count))) {
      if (c == '\n' || stream.line.size() == kMaxLineBytes) end_line(stream, sink);
      if (c != '\n') stream.line += c;
    }
  }
  if (stream.ended && !stream.line.empty()) end_line(stream, sink);
}

// Up to the end of a line where one is near, so that what others write comes between lines.
void TaggedOutput::write_some(Sink& sink) {
  while (sink.num_waiting() > 0 && takes_more(sink.to)) {
    std::string_view piece = std::string_view(sink.waiting).substr(sink.passed, kWriteBytes);
    piece = piece.substr(0, std::min(piece.rfind('\n'), piece.size() - 1) + 1);
    const ssize_t written = ::write(sink.to, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) {
      throw Error(ErrorCode::kIo,
                  text("cannot pass on what the ranks print: ", std::strerror(errno)));
    }
    sink.passed += static_cast<std::size_t>(written);
  }
  sink.waiting.erase(0, std::exchange(sink.passed, 0));
}

void TaggedOutput::pass_on() {
  for (Sink& sink : sinks_) write_some(sink);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    read_some(streams_[(first_ + i) % streams_.size()]);
  }
  ++first_;
  std::erase_if(streams_, [](const Stream& stream) { return stream.ended; });
  for (Sink& sink : sinks_) write_some(sink);
}

bool TaggedOutput::all_passed_on() const {
  return streams_.empty() && sinks_[0].num_waiting() == 0 && sinks_[1].num_waiting() == 0;
}

}  // namespace cmm::cli
