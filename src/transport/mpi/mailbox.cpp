#include "transport/mpi/mailbox.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"

namespace cmm::transport::mpi {
namespace {

constexpr std::int64_t kCheckPeersNs = 1'000'000;
constexpr int kMessagesPerPoll = 64;  // a poll ends though peers send without end

int bytes_of(const Message& message) {
  return static_cast<int>(sizeof(MessageHead) + message.head.text_bytes);
}

void set_text(Message& message, std::string_view text) {
  message.head.text_bytes = std::min(text.size(), Message::kTextBytes);
  std::memcpy(message.text, text.data(), message.head.text_bytes);
}

std::string text_of(const Message& message) {
  return std::string(message.text, message.head.text_bytes);
}

}  // namespace

Mailbox::Mailbox(const Config& config)
    : config_(config),
      local_indexes_(config.ranks.size(), -1),
      peers_(config.ranks.size()),
      leave_messages_(config.ranks.size()),
      leave_requests_(config.ranks.size(), MPI_REQUEST_NULL) {
  for (int index = 0; index < group()->size(); ++index) {
    local_indexes_[static_cast<std::size_t>(group()->rank_of(index))] = index;
  }
  for (int peer = 0; peer < num_ranks(); ++peer) {
    if (peer != rank()) others_.push_back(peer);
  }
  const CallsLock lock(calls_mutex());
  post_receive();
}

Mailbox::~Mailbox() {
  const CallsLock lock(calls_mutex());
  struct Kept {
    std::unique_ptr<Message> incoming;
    std::vector<std::unique_ptr<Outgoing>> outgoing;
    std::vector<LeaveMessage> leave_messages;
  };
  if (!finished_) world().mark_unclean();
  const bool may_call = running() && world().threads().may_call();
  if (may_call && receive_ != MPI_REQUEST_NULL) MPI_Cancel(&receive_);
  try {
    std::vector<MPI_Request> requests = {receive_};
    for (const auto& sent : outgoing_) {
      requests.insert(requests.end(), sent->requests.begin(), sent->requests.end());
    }
    requests.insert(requests.end(), leave_requests_.begin(), leave_requests_.end());
    abandon({std::move(requests),
             std::make_shared<Kept>(
                 Kept{std::move(incoming_), std::move(outgoing_), std::move(leave_messages_)})});
    if (may_call) free_abandoned();
  } catch (...) {
    // No memory for the list. MPI must not write into memory that is gone.
    static_cast<void>(incoming_.release());
    for (auto& sent : outgoing_) static_cast<void>(sent.release());
  }
}

void Mailbox::require(int code, const char* call, int peer) {
  if (code == MPI_SUCCESS) return;
  fail_and_throw(Error(
      ErrorCode::kPeerFailed,
      cat(call, peer < 0 ? std::string() : cat(" with rank ", peer), " failed: ", error_text(code)),
      peer));
}

void Mailbox::post_receive() {
  require(MPI_Irecv(incoming_.get(), sizeof(Message), MPI_BYTE, MPI_ANY_SOURCE,
                    world().first_tag(config_.axis), world().comm(), &receive_),
          "MPI_Irecv");
}

Mailbox::Outgoing& Mailbox::free_outgoing() {
  for (const auto& sent : outgoing_) {
    if (!all_complete(sent->requests)) continue;
    sent->requests.clear();
    return *sent;
  }
  outgoing_.push_back(std::make_unique<Outgoing>());
  outgoing_.back()->requests.reserve(others_.size());
  return *outgoing_.back();
}

void Mailbox::broadcast(const Message& message, const std::vector<int>& peers) {
  if (peers.empty()) return;
  Outgoing& out = free_outgoing();
  std::memcpy(&out.message, &message, static_cast<std::size_t>(bytes_of(message)));
  for (const int peer : peers) {
    out.requests.push_back(MPI_REQUEST_NULL);
    require(MPI_Isend(&out.message, bytes_of(message), MPI_BYTE, world_rank(peer),
                      world().first_tag(config_.axis), world().comm(), &out.requests.back()),
            "MPI_Isend", peer);
  }
}

std::string Mailbox::describe(const Operation& operation) {
  const std::string kind = describe_kind(operation.which);
  if (operation.which < kFirstCall) return kind;
  return cat(kind, " (", transport::describe(operation.header), ")");
}

void Mailbox::enter(std::uint64_t which, const CallHeader& header) {
  const std::uint64_t number = ++num_operations_;
  history_[number % kHistory] = {number, which, header};
  for (const int peer : others_) {
    std::deque<Message>& ahead = peer_at(peer).ahead;
    while (!ahead.empty() && ahead.front().head.operation <= number) {
      const Message message = ahead.front();
      ahead.pop_front();
      handle_operation(peer, message);
    }
  }
}

void Mailbox::enter_call(std::uint64_t channel, const CallHeader& header,
                         const std::vector<int>& peers) {
  enter(kFirstCall + channel, header);
  Message message;
  message.head = {.source = rank(),
                  .kind = MessageKind::kCall,
                  .operation = num_operations_,
                  .which = kFirstCall + channel,
                  .header = header};
  broadcast(message, peers);
}

bool Mailbox::entered(int peer, std::uint64_t channel, std::uint64_t call) const {
  const std::vector<std::uint64_t>& calls = peer_at(peer).calls;
  return channel < calls.size() && calls[static_cast<std::size_t>(channel)] == call;
}

void Mailbox::enter_exchange(const std::string& text, Purpose purpose) {
  const auto which = static_cast<std::uint64_t>(purpose);
  for (Peer& peer : peers_) {
    peer.text.clear();
    peer.text_complete = false;
  }
  enter(which, {});
  for (std::size_t begin = 0; begin == 0 || begin < text.size(); begin += Message::kTextBytes) {
    Message message;
    message.head = {.source = rank(),
                    .kind = MessageKind::kText,
                    .operation = num_operations_,
                    .which = which,
                    .total = text.size()};
    set_text(message, std::string_view(text).substr(begin));
    broadcast(message, others_);
  }
  Peer& me = peer_at(rank());
  me.text = text;
  me.text_complete = true;
}

bool Mailbox::text_is_complete(int peer) const { return peer_at(peer).text_complete; }

std::vector<std::string> Mailbox::take_texts() {
  std::vector<std::string> texts;
  texts.reserve(peers_.size());
  for (Peer& peer : peers_) texts.push_back(std::move(peer.text));
  return texts;
}

void Mailbox::fail_and_throw(const Error& error) {
  fail(error);
  throw group()->cause();
}

// Alike on both ranks, whichever of them finds it.
void Mailbox::compare(int peer, const Operation& theirs) {
  const Operation& ours = history_[theirs.number % kHistory];
  if (ours == theirs) return;
  if (ours.number != theirs.number) {
    fail_and_throw(Error(ErrorCode::kInvalidArgument,
                         cat("ranks disagree on the order of calls: in operation ", theirs.number,
                             " of the axis rank ", peer, " ", describe(theirs), ", which rank ",
                             rank(), ", in operation ", num_operations_, ", does not expect")));
  }
  const bool we_are_first = rank() < peer;
  const Operation& first = we_are_first ? ours : theirs;
  const Operation& second = we_are_first ? theirs : ours;
  fail_and_throw(
      Error(ErrorCode::kInvalidArgument,
            cat("ranks disagree on ", ours.which == theirs.which ? "a call" : "the order of calls",
                ": in operation ", theirs.number, " of the axis rank ", std::min(rank(), peer), " ",
                describe(first), ", rank ", std::max(rank(), peer), " ", describe(second))));
}

// A call or a part of a text, of an operation that this rank has entered.
void Mailbox::handle_operation(int peer, const Message& message) {
  compare(peer, {message.head.operation, message.head.which, message.head.header});
  Peer& from = peer_at(peer);
  if (message.head.kind == MessageKind::kCall) {
    const auto channel = static_cast<std::size_t>(message.head.which - kFirstCall);
    if (from.calls.size() <= channel) from.calls.resize(channel + 1, 0);
    from.calls[channel] = message.head.header.call;
    return;
  }
  from.text += text_of(message);
  from.text_complete = from.text.size() >= message.head.total;
}

void Mailbox::handle_received(const MPI_Status& status) {
  int num_bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &num_bytes);
  const MessageHead& head = incoming_->head;
  const auto source = std::find(config_.ranks.begin(), config_.ranks.end(), status.MPI_SOURCE);
  const auto peer = static_cast<int>(source - config_.ranks.begin());
  if (num_bytes < static_cast<int>(sizeof(MessageHead)) || head.magic != MessageHead::kMagic ||
      head.version != MessageHead::kVersion || head.byte_order != MessageHead::kByteOrder ||
      source == config_.ranks.end() || head.source != peer ||
      head.text_bytes != static_cast<std::size_t>(num_bytes) - sizeof(MessageHead)) {
    fail_and_throw(Error(ErrorCode::kPeerFailed,
                         cat("rank ", peer,
                             " sent a message that this version of the library on "
                             "this kind of processor does not understand; every rank needs the "
                             "same"),
                         peer));
  }
  Peer& from = peer_at(peer);
  from.last_operation = std::max(from.last_operation, head.operation);
  switch (head.kind) {
    case MessageKind::kCall:
    case MessageKind::kText:
      if (head.operation > num_operations_) {
        from.ahead.push_back(*incoming_);
      } else {
        handle_operation(peer, *incoming_);
      }
      return;
    case MessageKind::kFailure:
      if (!group()->dead()) {
        failure_sent_ = true;
        group()->fail(Error(static_cast<ErrorCode>(head.code), text_of(*incoming_), head.culprit));
      }
      return;
    case MessageKind::kLeave:
      from.left_reason = text_of(*incoming_);
      from.num_sent_to_us = head.total;
      from.left = true;
      return;
    case MessageKind::kAsk: {
      Message answer;
      const bool waits = waits_.load(std::memory_order_relaxed);
      answer.head = {.source = rank(),
                     .kind = MessageKind::kAnswer,
                     .culprit = waits ? group()->history()->awaited() : -1,
                     .total = head.total};
      broadcast(answer, {peer});
      return;
    }
    case MessageKind::kAnswer:
      from.num_answered = head.total;
      from.awaits = head.culprit;
      return;
  }
}

void Mailbox::poll() {
  if (!world().threads().may_call()) return;
  flush_failure();
  flush_leave();
  for (int i = 0; i < kMessagesPerPoll && !group()->dead(); ++i) {
    int done = 0;
    MPI_Status status;
    require(MPI_Test(&receive_, &done, &status), "MPI_Irecv");
    if (done == 0) return;
    handle_received(status);
    post_receive();
  }
  flush_failure();
  group()->check_alive();
}

bool Mailbox::left(int peer) const {
  const Peer& of = peer_at(peer);
  return of.left && of.num_received >= of.num_sent_to_us;
}

std::string Mailbox::silence_of(int peer) const {
  if (local_index(peer) >= 0) return group()->silence_of(local_index(peer));
  return cat("it is on another host and silent since operation ", peer_at(peer).last_operation,
             " of the axis; this rank is in operation ", num_operations_);
}

void Mailbox::throw_left(int peer) {
  fail(Error(ErrorCode::kPeerFailed,
             cat("rank ", peer, " has left the mesh: ", peer_at(peer).left_reason), peer));
  throw group()->cause();
}

void Mailbox::fail(const Error& error) {
  group()->fail(error);
  flush_failure();
}

// Tells the ranks of other hosts the cause, in the words that are for them. Every rank of this host
// does so, because the one that failed may be gone.
void Mailbox::flush_failure() {
  if (failure_sent_ || !group()->dead() || !world().threads().may_call()) return;
  failure_sent_ = true;
  const Error cause = told_to_peers(group()->cause(), rank());
  Message message;
  message.head = {.source = rank(),
                  .kind = MessageKind::kFailure,
                  .code = static_cast<std::int32_t>(cause.code()),
                  .culprit = cause.rank()};
  set_text(message, cause.what());
  for (const int peer : others_) {
    if (local_index(peer) >= 0) continue;
    try {
      broadcast(message, {peer});
    } catch (const Error&) {
      // A peer that cannot be told is gone itself.
    }
  }
}

void Mailbox::leave(const char* reason) noexcept {
  group()->leave(reason);
  if (leave_reason_ == nullptr) leave_reason_ = reason;
  try {
    // First, where a thread that may not call MPI has failed: peers take the first that they hear.
    flush_failure();
  } catch (...) {
    // No memory to tell why: that this rank leaves is told without.
  }
  flush_leave();
}

void Mailbox::flush_leave() noexcept {
  if (leave_reason_ == nullptr || leave_sent_ || !world().threads().may_call()) return;
  if (!running()) return;
  leave_sent_ = true;
  const std::size_t text_bytes = std::min(std::strlen(leave_reason_), kLeaveTextBytes);
  for (const int peer : others_) {
    const auto i = static_cast<std::size_t>(peer);
    LeaveMessage& message = leave_messages_[i];
    message.head = {.source = rank(),
                    .kind = MessageKind::kLeave,
                    .total = peers_[i].num_sent,
                    .text_bytes = text_bytes};
    std::memcpy(message.text, leave_reason_, text_bytes);
    // An error means that the peer is gone: it need not be told.
    MPI_Isend(&message, static_cast<int>(sizeof(MessageHead) + text_bytes), MPI_BYTE,
              world_rank(peer), world().first_tag(config_.axis), world().comm(),
              &leave_requests_[i]);
  }
}

bool Mailbox::finish() noexcept {
  if (!world().threads().may_call()) return false;
  try {
    poll();
    for (const auto& sent : outgoing_) {
      if (!all_complete(sent->requests)) return false;
    }
  } catch (...) {
    return true;  // the axis is dead
  }
  if (!leave_sent_ || !all_complete(leave_requests_)) return false;
  finished_ = std::all_of(others_.begin(), others_.end(), [this](int peer) { return left(peer); });
  return finished_;
}

int Mailbox::held_up_by(int peer) {
  constexpr std::chrono::milliseconds kAnswersWithin{100};  // a rank that waits looks every 200 us
  int at_fault = peer;
  for (int hop = 0; hop < num_ranks(); ++hop) {
    CallsLock lock(calls_mutex());
    if (!world().threads().may_call()) return peer;
    Peer& asked = peer_at(at_fault);
    const Deadline deadline(kAnswersWithin);
    // Asked again where it waits for nobody: it may be between two waits.
    do {
      const std::uint64_t number = ++num_asked_;
      Message question;
      question.head = {.source = rank(), .kind = MessageKind::kAsk, .total = number};
      broadcast(question, {at_fault});
      for (poll(); asked.num_answered < number; poll()) {
        if (deadline.expired()) return at_fault;
        lock.unlock();
        std::this_thread::sleep_for(kLongestNap);
        lock.lock();
      }
    } while (asked.awaits < 0 && !deadline.expired());
    if (asked.awaits < 0 || asked.awaits >= num_ranks()) return at_fault;  // it is only slow
    if (asked.awaits == rank()) return peer;                               // they wait in a circle
    at_fault = asked.awaits;
  }
  return peer;
}

void Mailbox::check_peers() {
  try {
    group()->check_peers();
  } catch (const Error&) {
    flush_failure();
    throw;
  }
}

void Mailbox::doze() {
  waits_.store(true, std::memory_order_relaxed);
  {
    const CallsLock lock(calls_mutex());
    poll();
    const std::int64_t now = now_ns();
    if (now - checked_ns_ > kCheckPeersNs) {
      checked_ns_ = now;
      check_peers();
    }
  }
  const auto nap = std::clamp(napped_ / kNapShare, kShortestNap, kLongestNap);
  std::this_thread::sleep_for(nap);
  napped_ += nap;
}

}  // namespace cmm::transport::mpi
