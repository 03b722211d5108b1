#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/text.hpp"
#include "transport/shm/meeting.hpp"

namespace cmm::transport::shm {
namespace {

// Connections that have not said who they are, beyond those of the ranks: enough for a mistaken
// job, too few to use up the descriptors of rank 0.
constexpr std::size_t kSpareConnections = 32;

// Ten years: the clock counts nanoseconds in 63 bits.
constexpr std::int64_t kLongestMs = std::int64_t{10} * 365 * 24 * 3'600'000;

// Of failures kept for a rank that has not come, while another tries again and again.
constexpr std::size_t kMaxOwed = 1000;

// Takes as long for every token that differs, wherever it differs.
bool same_token(const char (&given)[kMaxTokenBytes], const std::string& expected) {
  char padded[kMaxTokenBytes] = {};
  std::copy_n(expected.data(), std::min(expected.size(), kMaxTokenBytes), padded);
  unsigned difference = 0;
  for (std::size_t i = 0; i < kMaxTokenBytes; ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(padded[i]);
  }
  return difference == 0;
}

// The file can grow but never shrink: no rank can take memory away under another's eyes.
UniqueFd make_memory() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned kNoExec = 8;  // MFD_NOEXEC_SEAL of Linux 6.3, which some systems demand
  UniqueFd memory(memfd_create("cmm", kFlags | kNoExec));
  if (!memory && errno == EINVAL) memory = UniqueFd(memfd_create("cmm", kFlags));
  if (!memory || fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    throw Error(ErrorCode::kOutOfMemory, cat("no shared memory (memfd) for the ranks: ",
                                             std::generic_category().message(errno),
                                             errno == EMFILE ? "; raise `ulimit -n`" : ""));
  }
  return memory;
}

}  // namespace

MeetingServer::MeetingServer(const Config& config)
    : config_(config),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      seats_(static_cast<std::size_t>(config.num_ranks)) {
  if (!events_ || !timer_) {
    throw Error(ErrorCode::kOutOfMemory,
                cat("no descriptors for the meeting of the ranks: ",
                    std::generic_category().message(errno), "; raise `ulimit -n`"));
  }
  watch(timer_.get());
}

void MeetingServer::watch(int descriptor) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw Error(ErrorCode::kOutOfMemory, cat("a rank's connection cannot be watched: ",
                                             std::generic_category().message(errno)));
  }
}

void MeetingServer::add(UniqueFd connection, int rank) {
  const int key = connection.get();
  watch(key);
  connections_.emplace(key, Connection{std::move(connection), rank});
  if (rank >= 0) seat(rank).connection = key;
}

void MeetingServer::listen(std::unique_ptr<Listener> listener) {
  watch(listener->descriptor());
  listener_ = std::move(listener);
}

void MeetingServer::serve() {
  constexpr int kAtOnce = 64;
  epoll_event events[kAtOnce];
  int num_events = 0;
  do {
    num_events = epoll_wait(events_.get(), events, kAtOnce, 0);
    for (int i = 0; i < num_events; ++i) {
      const int key = events[i].data.fd;
      if (key == timer_.get()) {
        std::uint64_t num_expired = 0;
        [[maybe_unused]] const auto bytes = read(key, &num_expired, sizeof num_expired);
      } else if (listener_ != nullptr && key == listener_->descriptor()) {
        accept_all();
      } else {
        receive_all(key);
      }
    }
  } while (num_events == kAtOnce);
  check_deadline();
}

void MeetingServer::accept_all() {
  try {
    while (listener_ != nullptr) {
      UniqueFd accepted = listener_->accept();
      if (!accepted) return;
      if (connections_.size() >= seats_.size() + kSpareConnections) {
        const auto silent = std::find_if(connections_.begin(), connections_.end(),
                                         [](const auto& c) { return c.second.rank < 0; });
        if (silent != connections_.end()) connections_.erase(silent);
        ++num_refused_;
      }
      add(std::move(accepted), -1);
    }
  } catch (const Error& error) {
    fail({error.code(), error.rank(), error.what()});
  }
}

void MeetingServer::receive_all(int key) {
  for (;;) {
    const auto found = connections_.find(key);
    if (found == connections_.end()) return;  // closed meanwhile
    Message message;
    const Received received = receive_message(found->second.socket.get(), &message, sizeof message);
    if (received.state == Received::State::kNothing) return;
    if (received.state == Received::State::kClosed) {
      close(key, "ended, or closed its connection,");
      return;
    }
    if (received.bytes < sizeof message.token || !same_token(message.token, config_.token)) {
      refuse(key,
             "another token than rank 0's: this is another job's socket, or a rank was given "
             "another token");
      return;
    }
    if (received.bytes != sizeof message || message.magic != kMagic ||
        message.version != kProtocolVersion || message.byte_order != kByteOrderMark) {
      refuse(key, cat("a message of ", received.bytes, " bytes, protocol ", message.version,
                      "; this build speaks protocol ", kProtocolVersion, " in ", sizeof message,
                      " bytes: all ranks need the same version"));
      return;
    }
    handle(key, message);
  }
}

void MeetingServer::handle(int key, const Message& message) {
  const int rank = connections_.at(key).rank;
  switch (message.kind) {
    case Kind::kAsk:
      ask(key, message);
      return;
    case Kind::kAttached:
      attached(key, message);
      return;
    case Kind::kWithdraw:
      if (rank >= 0 && seat(rank).nonce == message.nonce && seat(rank).place != Place::kAbsent) {
        fail(failure_of(message));
      }
      return;
    case Kind::kAnswer:
    case Kind::kVerdict:
      break;
  }
  refuse(key, cat("a message of kind ", static_cast<std::uint32_t>(message.kind),
                  ", which no rank sends here"));
}

// What is wrong with an ask, as all ranks will report it.
std::optional<Failure> MeetingServer::objection(int key, const Message& message) const {
  if (message.code != kSuccess) return failure_of(message);
  const int bound = connections_.at(key).rank;
  const int num_ranks = config_.num_ranks;
  const auto wrong = [](const std::string& text) {
    return Failure{ErrorCode::kInvalidArgument, -1, text};
  };
  if (message.num_ranks != num_ranks) {
    return wrong(cat("rank ", message.rank, " (process ", message.process.pid, ") was told of ",
                     message.num_ranks, " ranks; this job has ", num_ranks));
  }
  if (message.rank < 0 || message.rank >= num_ranks) {
    return wrong(cat("process ", message.process.pid, " says it is rank ", message.rank,
                     "; the ranks of this job are 0 to ", num_ranks - 1));
  }
  if (bound >= 0 && bound != message.rank) {
    return wrong(cat("process ", message.process.pid, " says it is rank ", message.rank,
                     " on the connection of rank ", bound));
  }
  const Seat& seat_of = seats_[static_cast<std::size_t>(message.rank)];
  if (bound < 0 && seat_of.connection >= 0) {
    return wrong(cat("processes ", seat_of.process.pid, " and ", message.process.pid,
                     " both say they are rank ", message.rank, " of ", num_ranks,
                     "; each rank needs a number of its own"));
  }
  if (message.axes_ranks != num_ranks) {
    return wrong(cat("the axes ", text_of(message), " of rank ", message.rank, " have ",
                     message.axes_ranks, " ranks; this job has ", num_ranks));
  }
  if (!first_ask_.has_value()) return std::nullopt;
  const Message& first = *first_ask_;
  if (first.axes_fingerprint != message.axes_fingerprint) {
    return wrong(cat("the ranks disagree on the axes: rank ", first.rank, " has ", text_of(first),
                     ", rank ", message.rank, " has ", text_of(message)));
  }
  if (first.pid_namespace != message.pid_namespace) {
    return Failure{ErrorCode::kUnsupported, -1,
                   cat("ranks ", first.rank, " and ", message.rank,
                       " are in different pid namespaces, where neither sees the other end; start "
                       "their containers with a common one (--pid)")};
  }
  return std::nullopt;
}

void MeetingServer::ask(int key, const Message& message) {
  const std::optional<Failure> wrong = ended_.has_value() ? ended_ : objection(key, message);
  Connection& connection = connections_.at(key);
  // A launcher's connection is one rank's, whatever its message says.
  int rank = connection.rank;
  if (rank < 0 && message.rank >= 0 && message.rank < config_.num_ranks &&
      seat(message.rank).connection < 0) {
    rank = message.rank;
  }
  if (rank < 0) {
    // Nobody's seat: told at once, on its connection.
    Message verdict;
    verdict.kind = Kind::kVerdict;
    verdict.nonce = message.nonce;
    set_failure(verdict, *wrong);
    send_message(connection.socket.get(), &verdict, sizeof verdict);
    if (!ended_.has_value()) fail(*wrong);
    return;
  }
  connection.rank = rank;
  Seat& mine = seat(rank);
  mine.connection = key;
  mine.nonce = message.nonce;
  mine.process = message.process;
  if (!mine.owed.empty()) {
    tell(mine, mine.owed.front());
    mine.owed.pop_front();
    return;
  }
  if (attaching_) {
    // It asked, was answered, and starts anew without having said what became of that.
    fail({ErrorCode::kPeerFailed, rank, cat("rank ", rank, " left the meeting and came back")});
    return;
  }
  mine.place = Place::kAsked;
  if (wrong.has_value()) {
    if (ended_.has_value()) {
      tell(mine, *wrong);
    } else {
      fail(*wrong);
    }
    return;
  }
  if (!first_ask_.has_value()) {
    first_ask_ = message;
    region_bytes_ = message.region_bytes;
  }
  region_bytes_ = std::min(region_bytes_, message.region_bytes);
  const std::int64_t left_ms = std::clamp<std::int64_t>(message.deadline_ms, 0, kLongestMs);
  const auto deadline = Clock::now() + std::chrono::milliseconds(left_ms);
  if (!deadline_.has_value() || deadline < *deadline_) {
    deadline_ = deadline;
    deadline_ms_ = left_ms;
    deadline_rank_ = message.rank;
    set_timer();
  }
  for (int other = 0; other < config_.num_ranks; ++other) {
    if (seat(other).place != Place::kLost) continue;
    fail({ErrorCode::kPeerFailed, other,
          cat("rank ", other, " ", seat(other).lost_how, " before the ranks had met")});
    return;
  }
  if (count(Place::kAsked) == config_.num_ranks) answer_all();
}

void MeetingServer::answer_all() {
  if (listener_ != nullptr) listener_->close();
  attaching_ = true;
  try {
    const UniqueFd memory = make_memory();
    std::vector<char> bytes(sizeof(Message) + seats_.size() * sizeof(Process));
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      std::memcpy(bytes.data() + sizeof(Message) + i * sizeof(Process), &seats_[i].process,
                  sizeof(Process));
    }
    for (int rank = 0; rank < config_.num_ranks; ++rank) {
      Message answer;
      answer.kind = Kind::kAnswer;
      answer.nonce = seat(rank).nonce;
      answer.num_ranks = config_.num_ranks;
      answer.region_bytes = region_bytes_;
      std::memcpy(bytes.data(), &answer, sizeof answer);
      if (send_message(seat(rank).connection, bytes.data(), bytes.size(), memory.get()) !=
          Sent::kYes) {
        fail({ErrorCode::kPeerFailed, rank,
              cat("rank ", rank, " ended, or read nothing, when all ranks had come")});
        return;
      }
    }
  } catch (const Error& error) {
    fail({error.code(), error.rank(), error.what()});
  }
}

void MeetingServer::attached(int key, const Message& message) {
  const int rank = connections_.at(key).rank;
  if (!attaching_ || rank < 0 || seat(rank).nonce != message.nonce) return;  // of a failed one
  if (message.code != kSuccess) {
    fail(failure_of(message));
    return;
  }
  seat(rank).place = Place::kAttached;
  if (count(Place::kAttached) == config_.num_ranks) go();
}

void MeetingServer::go() {
  for (Seat& told : seats_) {
    Message verdict;
    verdict.kind = Kind::kVerdict;
    verdict.nonce = told.nonce;
    // One that is not reached has ended: its peers will see that by its process.
    send_message(told.connection, &verdict, sizeof verdict);
    told.told = true;
  }
  forget_round();
}

void MeetingServer::fail(const Failure& failure) {
  if (config_.one_meeting) ended_ = failure;
  for (Seat& told : seats_) {
    if (told.place == Place::kAsked || told.place == Place::kAttached) {
      tell(told, failure);
    } else if (told.place == Place::kAbsent && !config_.one_meeting) {
      told.owed.push_back(failure);
      if (told.owed.size() > kMaxOwed) told.owed.pop_front();
    }
  }
  forget_round();
}

void MeetingServer::tell(Seat& told, const Failure& failure) {
  Message verdict;
  verdict.kind = Kind::kVerdict;
  verdict.nonce = told.nonce;
  set_failure(verdict, failure);
  send_message(told.connection, &verdict, sizeof verdict);
  told.told = true;
}

void MeetingServer::forget_round() {
  for (Seat& left : seats_) {
    if (left.place != Place::kLost) left.place = Place::kAbsent;
  }
  first_ask_.reset();
  attaching_ = false;
  deadline_.reset();
  set_timer();
}

// Its connection is of no more use: the rank has ended, or gives up.
void MeetingServer::close(int key, const std::string& how) {
  const int rank = connections_.at(key).rank;
  connections_.erase(key);
  if (rank < 0) return;
  seat(rank).connection = -1;
  if (!config_.one_meeting) {
    lose(rank, how);
  } else if (attaching_) {
    fail({ErrorCode::kPeerFailed, rank, cat("rank ", rank, " ", how, " when all ranks had come")});
  } else if (!ended_.has_value()) {
    seat(rank).place = Place::kAbsent;  // another process may come for it
    if (count(Place::kAsked) == 0) first_ask_.reset();
  }
}

void MeetingServer::lose(int rank, const std::string& how) {
  Seat& lost = seat(rank);
  if (lost.place == Place::kLost) return;
  if (lost.connection >= 0) connections_.erase(lost.connection);
  lost.connection = -1;
  const bool goes_on = attaching_ || count(Place::kAsked) > 0;
  lost.place = Place::kLost;
  lost.lost_how = how;
  if (goes_on) {
    fail({ErrorCode::kPeerFailed, rank, cat("rank ", rank, " ", how, " before the ranks had met")});
  }
}

// A connection whose other end is no rank of this job, as far as can be told.
void MeetingServer::refuse(int key, const std::string& why) {
  Message verdict;
  verdict.kind = Kind::kVerdict;
  set_failure(verdict, {ErrorCode::kInvalidArgument, -1, cat("refused: ", why)});
  send_message(connections_.at(key).socket.get(), &verdict, sizeof verdict);
  ++num_refused_;
  close(key, "sent what is no message of this protocol");
}

void MeetingServer::check_deadline() {
  if (!deadline_.has_value() || Clock::now() < *deadline_) return;
  int culprit = -1;
  for (int rank = config_.num_ranks - 1; rank >= 0; --rank) {
    if (seat(rank).place == (attaching_ ? Place::kAsked : Place::kAbsent)) culprit = rank;
  }
  fail({ErrorCode::kDeadline, culprit,
        cat("rank ", deadline_rank_, " waited ", deadline_ms_, " ms for the mesh; ",
            attaching_ ? cat("rank ", culprit, " has not mapped the memory") : missing())});
}

void MeetingServer::set_timer() {
  itimerspec when = {};
  if (deadline_.has_value()) {
    const auto left = std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline_ - Clock::now()).count(), 1);
    when.it_value.tv_sec = static_cast<time_t>(left / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(left % 1'000'000'000);
  }
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

int MeetingServer::count(Place place) const {
  return static_cast<int>(std::count_if(seats_.begin(), seats_.end(),
                                        [place](const Seat& s) { return s.place == place; }));
}

bool MeetingServer::all_told() const {
  return std::all_of(seats_.begin(), seats_.end(), [](const Seat& s) { return s.told; });
}

std::string MeetingServer::missing() const {
  constexpr int kNamed = 8;
  std::string ranks;
  int num_missing = 0;
  for (int rank = 0; rank < config_.num_ranks; ++rank) {
    if (seats_[static_cast<std::size_t>(rank)].place != Place::kAbsent) continue;
    if (++num_missing <= kNamed) ranks += cat(num_missing == 1 ? "" : ", ", rank);
  }
  std::string text = cat(num_missing == 1 ? "rank " : "ranks ", ranks,
                         num_missing > kNamed ? cat(" and ", num_missing - kNamed, " more") : "",
                         num_missing == 1 ? " has" : " have", " not come");
  const int num_strangers = listener_ == nullptr ? 0 : listener_->num_strangers();
  if (num_refused_ + num_strangers > 0) {
    text += cat("; ", num_refused_, " connections with another token or version and ",
                num_strangers, " of other users were refused");
  }
  return text;
}

}  // namespace cmm::transport::shm
