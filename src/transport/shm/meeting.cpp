// A rank's part of a meeting.
#include "transport/shm/meeting.hpp"

#include <sys/random.h>

#include <algorithm>

#include "base/text.hpp"

namespace cmm::transport::shm {
namespace {

// How long a rank waits beyond its deadline for the server to say whose fault it was. A server that
// is stopped says nothing.
constexpr std::chrono::milliseconds kGrace{50};
// How long rank 0 stays after a failure, to tell it to ranks that had not come yet.
constexpr std::chrono::milliseconds kLinger{1'000};
constexpr int kPollMs = 100;

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = static_cast<std::uint64_t>(now_ns()) ^
             (static_cast<std::uint64_t>(getpid()) << 40);  // unlike any other of this rank
  }
  return number | 1;  // 0 answers whoever it is
}

Error error_of(const Failure& failure) { return {failure.code, failure.text, failure.rank}; }

class Rank {
 public:
  Rank(const Line& line, const MeetRequest& request, const Deadline& deadline)
      : line_(line),
        request_(request),
        deadline_(deadline),
        patience_(std::chrono::milliseconds(deadline.left_ms()) + kGrace),
        nonce_(random_number()) {}

  std::shared_ptr<Arena> meet();

 private:
  struct Answer {
    Message message;
    std::vector<Process> processes;
    UniqueFd memory;
    bool memory_was_lost = false;
  };

  Message message(Kind kind) const;
  void send(const Message& message);
  Answer receive(Kind expected);
  void wait(bool to_send);
  [[noreturn]] void give_up() const;

  const Line line_;
  const MeetRequest& request_;
  const Deadline deadline_;
  const Deadline patience_;
  const std::uint64_t nonce_;
  bool last_look_ = false;  // patience had ended before it
};

Message Rank::message(Kind kind) const {
  Message result;
  std::copy_n(request_.token.data(), std::min(request_.token.size(), kMaxTokenBytes), result.token);
  result.kind = kind;
  result.nonce = nonce_;
  result.rank = request_.rank;
  return result;
}

// Between two looks at what has been said. A process that was held up longer than its patience
// lasts looks once more: it may have been told meanwhile, or be the one who tells.
void Rank::wait(bool to_send) {
  if (last_look_) give_up();
  if (line_.server != nullptr) line_.server->serve();
  Waited waited = {.readable = {line_.socket}, .writable = to_send ? line_.socket : -1};
  if (line_.server != nullptr) waited.readable.push_back(line_.server->descriptor());
  wait_for_any(waited, patience_, kPollMs);
  last_look_ = patience_.expired();
  if (line_.server != nullptr) line_.server->serve();
}

void Rank::give_up() const {
  const Failure silent = {
      ErrorCode::kDeadline, -1,
      cat("rank ", request_.rank, " waited ", deadline_.limit_ms(),
          " ms for the mesh, and whoever brings the ranks together says nothing: the launcher, or "
          "rank 0, is stopped or busy with something else")};
  Message withdrawal = message(Kind::kWithdraw);
  set_failure(withdrawal, silent);
  send_message(line_.socket, &withdrawal, sizeof withdrawal);
  throw error_of(silent);
}

void Rank::send(const Message& sent) {
  for (;;) {
    switch (send_message(line_.socket, &sent, sizeof sent)) {
      case Sent::kYes:
        return;
      case Sent::kLater:
        wait(true);
        break;
      case Sent::kLost:
        return;  // what the other end said before it went is still to be read
    }
  }
}

Rank::Answer Rank::receive(Kind expected) {
  std::vector<char> bytes(sizeof(Message) +
                          static_cast<std::size_t>(request_.num_ranks) * sizeof(Process));
  last_look_ = false;
  for (;;) {
    Received received = receive_message(line_.socket, bytes.data(), bytes.size());
    if (received.state == Received::State::kNothing) {
      wait(false);
      continue;
    }
    if (received.state == Received::State::kClosed) {
      throw Error(ErrorCode::kPeerFailed, cat("rank ", request_.rank,
                                              " lost its connection before the ranks had met: the "
                                              "launcher, or rank 0, has ended"));
    }
    Answer answer;
    if (received.bytes >= sizeof(Message))
      std::memcpy(&answer.message, bytes.data(), sizeof(Message));
    const Message& head = answer.message;
    if (received.bytes < sizeof(Message) || head.magic != kMagic ||
        head.version != kProtocolVersion || head.byte_order != kByteOrderMark) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a message of ", received.bytes, " bytes, protocol ", head.version,
                      ", from whoever brings the ranks together; this build speaks protocol ",
                      kProtocolVersion, ": all ranks need the same version"));
    }
    if (head.nonce != nonce_ && head.nonce != 0) continue;  // to an earlier ask
    if (head.kind == Kind::kVerdict && head.code != kSuccess) throw error_of(failure_of(head));
    const std::size_t whole = expected == Kind::kAnswer ? bytes.size() : sizeof(Message);
    if (head.kind != expected || received.bytes != whole) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a message of kind ", static_cast<std::uint32_t>(head.kind), " and ",
                      received.bytes, " bytes where kind ", static_cast<std::uint32_t>(expected),
                      " and ", whole, " bytes were due"));
    }
    if (expected == Kind::kAnswer) {
      answer.processes.resize(static_cast<std::size_t>(request_.num_ranks));
      std::memcpy(answer.processes.data(), bytes.data() + sizeof(Message),
                  answer.processes.size() * sizeof(Process));
    }
    answer.memory = std::move(received.descriptor);
    answer.memory_was_lost = received.descriptor_was_lost;
    return answer;
  }
}

std::shared_ptr<Arena> Rank::meet() {
  Message ask = message(Kind::kAsk);
  std::optional<AddressRange> range;
  std::optional<Failure> failure = request_.failure;
  if (!failure.has_value()) {
    try {
      range.emplace(AddressRange::Limits{.num_ranks = request_.num_ranks,
                                         .control_bytes = request_.control_bytes});
      ask.region_bytes = range->region_bytes();
    } catch (const Error& error) {
      failure = {error.code(), request_.rank,
                 cat("rank ", request_.rank, " cannot take part: ", error.what())};
    }
  }
  ask.num_ranks = request_.num_ranks;
  ask.axes_ranks = request_.axes_ranks;
  ask.axes_fingerprint = request_.axes_fingerprint;
  ask.process = this_process();
  ask.pid_namespace = pid_namespace();
  ask.deadline_ms = deadline_.left_ms();
  set_text(ask, request_.axes);
  if (failure.has_value()) set_failure(ask, *failure);
  send(ask);

  Answer answer = receive(Kind::kAnswer);
  Message report = message(Kind::kAttached);
  std::shared_ptr<Arena> arena;
  try {
    if (answer.memory_was_lost || !answer.memory) {
      throw Error(ErrorCode::kOutOfMemory,
                  "no descriptor is free for the shared memory; raise `ulimit -n`");
    }
    if (!range.has_value() || answer.message.region_bytes <= 0 ||
        answer.message.region_bytes > range->region_bytes()) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("regions of ", answer.message.region_bytes, " bytes were answered"));
    }
    arena = std::make_shared<Arena>(Arena::Config{.memory = std::move(answer.memory),
                                                  .rank = request_.rank,
                                                  .processes = std::move(answer.processes),
                                                  .control_bytes = request_.control_bytes,
                                                  .region_bytes = answer.message.region_bytes},
                                    std::move(*range));
  } catch (const Error& error) {
    set_failure(report,
                {error.code(), request_.rank,
                 cat("rank ", request_.rank, " cannot map the shared memory: ", error.what())});
  }
  send(report);
  receive(Kind::kVerdict);
  return arena;
}

}  // namespace

std::shared_ptr<Arena> meet(const Line& line, const MeetRequest& request,
                            const Deadline& deadline) {
  return Rank(line, request, deadline).meet();
}

std::shared_ptr<Arena> meet_at(const std::string& address, const MeetRequest& request,
                               const Deadline& deadline) {
  if (request.rank != 0) {
    const UniqueFd connection = connect_to(address, deadline);
    return meet({.socket = connection.get()}, request, deadline);
  }
  MeetingServer server(
      {.num_ranks = request.num_ranks, .token = request.token, .one_meeting = true});
  auto [mine, of_server] = socket_pair();
  server.add(std::move(of_server), 0);
  if (request.num_ranks > 1) server.listen(std::make_unique<Listener>(address, deadline));
  try {
    return meet({.socket = mine.get(), .server = &server}, request, deadline);
  } catch (const Error&) {
    const Deadline linger(std::min(kLinger, std::chrono::milliseconds(deadline.left_ms())));
    while (!server.all_told() && !linger.expired()) {
      wait_for_any({.readable = {server.descriptor()}}, linger, kPollMs);
      server.serve();
    }
    throw;
  }
}

}  // namespace cmm::transport::shm
