#include "transport/mpi/channel.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/deadline.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "transport/mpi/exchange.hpp"

namespace cmm::transport::mpi {
namespace {

// Each costs some tenths of a microsecond, and MPI moves all messages at every one.
constexpr int kTestsPerPoll = 16;

// With MPI for one peer at a time: more than a link of 10 Gbit/s moves between two polls, and no
// more than MPI may well copy.
constexpr std::int64_t kSendWindowBytes = std::int64_t{4} << 20;

// Between two polls of a rank that expects nothing and has handed over all it sends. MPI may have
// buffered that, and a peer may fail, so it goes on; but a poll costs microseconds, and a rank that
// multiplies few rows would poll every 20.
constexpr std::int64_t kIdlePollNs = 200'000;

}  // namespace

Channel::Channel(std::shared_ptr<Mailbox> mailbox, const ChannelShape& shape,
                 std::shared_ptr<memory::Channel> local)
    : mailbox_(std::move(mailbox)),
      local_(std::move(local)),
      fetchers_(shape.fetchers.size()),
      sending_bytes_(static_cast<std::size_t>(mailbox_->num_ranks()), 0),
      num_sending_(static_cast<std::size_t>(shape.num_chunks), 0),
      receives_(static_cast<std::size_t>(shape.num_chunks)) {
  std::set<int> receivers;
  std::size_t num_sends = 0;
  for (std::size_t chunk = 0; chunk < fetchers_.size(); ++chunk) {
    for (const int rank : shape.fetchers[chunk]) {
      if (local_index(rank) >= 0) continue;
      fetchers_[chunk].push_back(rank);
      receivers.insert(rank);
      ++num_sends;
    }
  }
  receivers_.assign(receivers.begin(), receivers.end());
  // Calls allocate nothing: a chunk that is no block of memory has a few parts more than one that
  // is, but MPI never has all of them.
  const std::int64_t parts_of_chunk =
      ceil_div(2 * shape.max_chunk_bytes, mailbox_->world().max_message_bytes()) + 1;
  sends_.reserve(num_sends);
  requests_.reserve((receives_.size() + num_sends) * static_cast<std::size_t>(parts_of_chunk));
  expected_.reserve(receives_.size());
}

Channel::~Channel() {
  if (!mailbox_->group()->space().owned_by_this_process()) return;  // forked: MPI is the parent's
  const CallsLock lock(calls_mutex());
  if (mailbox_->world().helper() != nullptr) mailbox_->world().helper()->remove(*this);
  give_up_receives();
  if (requests_.empty()) return;
  mailbox_->world().mark_unclean();
  std::vector<MPI_Request> handles;
  for (const Request& request : requests_) handles.push_back(request.handle);
  abandon({std::move(handles), local_});
}

void Channel::connect(const Deadline& deadline) {
  const std::vector<std::string> all =
      exchange(*mailbox_, local_->introduction(), deadline, Purpose::kPlan);
  std::vector<std::string> of_host;
  const memory::Group& group = *mailbox_->group();
  for (int index = 0; index < group.size(); ++index) {
    of_host.push_back(all[static_cast<std::size_t>(group.rank_of(index))]);
  }
  local_->connect(of_host);
}

void Channel::begin(const CallHeader& header) {
  local_->begin(header);
  const CallsLock lock(calls_mutex());
  header_ = header;
  reading_ = true;
  mailbox_->enter_call(local_->number(), header, receivers_);
  if (mailbox_->world().helper() != nullptr) mailbox_->world().helper()->add(*this);
}

void Channel::end() {
  local_->end();
  const CallsLock lock(calls_mutex());
  reading_ = false;
  if (!mailbox_->group()->dead()) return;
  sends_.clear();
  give_up_receives();
}

// What has begun to arrive may not be called back: its memory, which is the group's, then stays as
// long as this process.
void Channel::give_up_receives() {
  expected_.clear();
  if (!running() || !mailbox_->world().threads().may_call()) return;
  const auto given_up = [](Request& request) {
    if (request.sends) return false;
    int done = 0;
    MPI_Cancel(&request.handle);
    MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE);
    return done != 0;
  };
  requests_.erase(std::remove_if(requests_.begin(), requests_.end(), given_up), requests_.end());
}

void Channel::offer(int chunk, const Rows& rows) {
  local_->offer(chunk, rows);
  const CallsLock lock(calls_mutex());
  for (const int peer : fetchers_[static_cast<std::size_t>(chunk)]) {
    const Rows shared = local_->shared_rows(chunk);
    const std::int64_t count = num_parts(shared);
    sends_.push_back({.peer = peer, .chunk = chunk, .rows = shared, .num_parts = count});
    num_sending_[static_cast<std::size_t>(chunk)] += static_cast<int>(count);
  }
  start_sends();
}

// The chunks of a peer leave in the order in which they were offered, and arrive in it, so that the
// peer can multiply the first while the others are on their way.
void Channel::start_sends() {
  std::size_t num_left = 0;
  for (Send& of : sends_) {
    const std::int64_t& bytes = sending_bytes_[static_cast<std::size_t>(of.peer)];
    while (of.next < of.num_parts && bytes < kSendWindowBytes) {
      send(part(of.rows, of.next), of.peer, of.chunk);
      ++of.next;
    }
    if (of.next < of.num_parts) sends_[num_left++] = of;
  }
  sends_.resize(num_left);
}

// Asked until it is true, at the end of a call, when nobody polls any more.
bool Channel::released(int chunk) {
  {
    const CallsLock lock(calls_mutex());
    move_messages();
    if (num_sending_[static_cast<std::size_t>(chunk)] > 0) return false;
  }
  return local_->released(chunk);
}

void Channel::fetch(int peer, int chunk, std::byte* into, std::int64_t num_rows,
                    std::int64_t row_bytes) {
  const int index = local_index(peer);
  if (index >= 0) return local_->fetch(index, chunk, into, num_rows, row_bytes);
  const CallsLock lock(calls_mutex());
  Receive& receive = receives_[static_cast<std::size_t>(chunk)];
  CMM_DCHECK(receive.num_left == 0 && receive.num_pending == 0);
  receive = {.peer = peer, .into = {into, num_rows, row_bytes, row_bytes}};
  receive.num_left = num_parts(receive.into);
  expected_.push_back(chunk);
}

bool Channel::fetched(int peer, int chunk) {
  const int index = local_index(peer);
  if (index >= 0) return local_->fetched(index, chunk);
  const CallsLock lock(calls_mutex());
  mailbox_->group()->check_alive();
  const Receive& receive = receives_[static_cast<std::size_t>(chunk)];
  if (!receive.wrong.empty()) throw Error(ErrorCode::kInvalidArgument, receive.wrong, peer);
  if (receive.num_left == 0 && receive.num_pending == 0) return true;
  if (mailbox_->left(peer)) mailbox_->throw_left(peer);
  return false;
}

// Both ends cut a chunk alike: into as many whole rows as a message may hold, or, where it may not
// hold one, each row by itself.
std::int64_t Channel::num_parts(const Rows& rows) const {
  const std::int64_t limit = mailbox_->world().max_message_bytes();
  if (rows.num_rows == 0 || rows.row_bytes == 0) return 1;
  if (rows.row_bytes > limit) return rows.num_rows * ceil_div(rows.row_bytes, limit);
  return ceil_div(rows.num_rows, limit / rows.row_bytes);
}

Channel::Part Channel::part(const Rows& rows, std::int64_t i) const {
  const std::int64_t limit = mailbox_->world().max_message_bytes();
  if (rows.num_rows == 0 || rows.row_bytes == 0) return {};
  auto* const data = const_cast<std::byte*>(rows.data);
  if (rows.row_bytes <= limit) {
    const std::int64_t most = limit / rows.row_bytes;
    return {.data = data + i * most * rows.stride_bytes,
            .num_rows = std::min(most, rows.num_rows - i * most),
            .row_bytes = rows.row_bytes,
            .stride_bytes = rows.stride_bytes};
  }
  const std::int64_t per_row = ceil_div(rows.row_bytes, limit);
  const std::int64_t begin = i % per_row * limit;
  const std::int64_t bytes = std::min(limit, rows.row_bytes - begin);
  return {.data = data + i / per_row * rows.stride_bytes + begin,
          .num_rows = 1,
          .row_bytes = bytes,
          .stride_bytes = bytes};
}

void Channel::send(const Part& part, int peer, int chunk) {
  MPI_Datatype type = MPI_BYTE;
  const std::int64_t bytes = part.num_rows * part.row_bytes;
  auto count = static_cast<int>(bytes);
  if (part.num_rows > 1 && part.stride_bytes != part.row_bytes) {
    mailbox_->require(
        MPI_Type_create_hvector(static_cast<int>(part.num_rows), static_cast<int>(part.row_bytes),
                                static_cast<MPI_Aint>(part.stride_bytes), MPI_BYTE, &type),
        "MPI_Type_create_hvector");
    MPI_Type_commit(&type);
    count = 1;
  }
  Request& request =
      requests_.emplace_back(Request{.chunk = chunk, .peer = peer, .sends = true, .bytes = bytes});
  const int code = MPI_Isend(part.data, count, type, mailbox_->world_rank(peer),
                             mailbox_->chunk_tag(chunk), mailbox_->world().comm(), &request.handle);
  if (type != MPI_BYTE) MPI_Type_free(&type);  // MPI keeps it as long as the message needs it
  if (code != MPI_SUCCESS) requests_.pop_back();
  mailbox_->require(code, "MPI_Isend", peer);
  mailbox_->count_sent(peer);
  sending_bytes_[static_cast<std::size_t>(peer)] += bytes;
}

void Channel::poll() {
  const CallsLock lock(calls_mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread of ours moves messages
  const bool idle = requests_.empty() && sends_.empty() && expected_.empty();
  if (!idle || now_ns() - moved_ns_ > kIdlePollNs) move_messages();
}

bool Channel::move() noexcept {
  try {
    move_messages();
  } catch (...) {
    return false;  // the axis is dead, and the rank's own threads see that
  }
  return reading_ || !requests_.empty() || !sends_.empty() || !expected_.empty();
}

void Channel::move_messages() {
  moved_ns_ = now_ns();
  mailbox_->poll();
  if (!mailbox_->world().threads().may_call()) return;
  match_expected();
  int num_tests = 0;
  for (std::size_t left = requests_.size(); left > 0 && num_tests < kTestsPerPoll; --left) {
    if (next_test_ >= requests_.size()) next_test_ = 0;
    const Request request = requests_[next_test_];
    int done = 0;
    const int code = MPI_Test(&requests_[next_test_].handle, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done == 0) {
      ++next_test_;
      ++num_tests;
      continue;
    }
    requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(next_test_));
    if (request.sends) {
      --num_sending_[static_cast<std::size_t>(request.chunk)];
      sending_bytes_[static_cast<std::size_t>(request.peer)] -= request.bytes;
    } else {
      --receives_[static_cast<std::size_t>(request.chunk)].num_pending;
      mailbox_->count_received(request.peer);
    }
    mailbox_->require(code, request.sends ? "MPI_Isend" : "MPI_Imrecv", request.peer);
  }
  start_sends();
}

// A chunk is received only once its sender is known to make the same call as this rank and its size
// is known to be right. So a message that is too long is an error of ours and not of MPI's, which
// in MPICH would end the program. Little is lost: what is large waits for its receiver in any case.
void Channel::match_expected() {
  int num_probes = 0;
  for (std::size_t left = expected_.size(); left > 0 && num_probes < kTestsPerPoll; --left) {
    if (next_probe_ >= expected_.size()) next_probe_ = 0;
    const int chunk = expected_[next_probe_];
    Receive& receive = receives_[static_cast<std::size_t>(chunk)];
    if (!mailbox_->entered(receive.peer, local_->number(), header_.call)) {
      ++next_probe_;
      continue;
    }
    while (receive.num_left > 0 && match_next(chunk, receive)) {
    }
    if (receive.num_left == 0) {
      expected_.erase(expected_.begin() + static_cast<std::ptrdiff_t>(next_probe_));
    } else {
      ++next_probe_;
      ++num_probes;
    }
  }
}

bool Channel::match_next(int chunk, Receive& receive) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  mailbox_->require(MPI_Improbe(mailbox_->world_rank(receive.peer), mailbox_->chunk_tag(chunk),
                                mailbox_->world().comm(), &found, &message, &status),
                    "MPI_Improbe", receive.peer);
  if (found == 0) return false;
  const Part into = part(receive.into, num_parts(receive.into) - receive.num_left);
  const std::int64_t expected_bytes = into.num_rows * into.row_bytes;
  MPI_Count num_bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &num_bytes);
  if (num_bytes != expected_bytes) {
    receive.wrong = cat("rank ", receive.peer, " sent ", num_bytes, " bytes of chunk ", chunk,
                        " where ", expected_bytes, " were expected");
    receive.num_left = 0;
    return true;
  }
  Request& request =
      requests_.emplace_back(Request{.chunk = chunk, .peer = receive.peer, .sends = false});
  const int code =
      MPI_Imrecv(into.data, static_cast<int>(expected_bytes), MPI_BYTE, &message, &request.handle);
  if (code != MPI_SUCCESS) requests_.pop_back();
  mailbox_->require(code, "MPI_Imrecv", receive.peer);
  --receive.num_left;
  ++receive.num_pending;
  return true;
}

std::string Channel::silence_of(int peer) const {
  const int index = local_index(peer);
  if (index >= 0) return local_->silence_of(index);
  const CallsLock lock(calls_mutex());
  return mailbox_->silence_of(peer);
}

int Channel::not_released_by(int chunk) const {
  {
    const CallsLock lock(calls_mutex());
    for (const Request& request : requests_) {
      if (request.sends && request.chunk == chunk) return request.peer;
    }
  }
  return local_->not_released_by(chunk);
}

bool Channel::offered(int peer, int chunk) { return local_->offered(local_index(peer), chunk); }

void Channel::doze() {
  poll();
  mailbox_->doze();
}

}  // namespace cmm::transport::mpi
