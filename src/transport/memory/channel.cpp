// The verbs of a call over memory that all ranks can read. Two counters carry all the ordering:
// `offered` (release) publishes the rows to offered() (acquire), `released` (release) tells
// released() (acquire) that a fetcher's reads are over.
#include "transport/memory/channel.hpp"

#include <charconv>
#include <cstring>

#include "base/check.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"

namespace cmm::transport::memory {
namespace {

constexpr auto kLine = static_cast<std::int64_t>(kCacheLineBytes);

// From the first byte of the first row to the last of the last; -1 where that is no number or the
// rows overlap.
std::int64_t extent_bytes(const Rows& rows) {
  if (rows.num_rows < 0 || rows.row_bytes < 0) return -1;
  if (rows.num_rows == 0 || rows.row_bytes == 0) return 0;
  if (rows.num_rows > 1 && rows.stride_bytes < rows.row_bytes) return -1;
  const std::int64_t before_last =
      rows.num_rows == 1 ? 0 : checked_product(rows.num_rows - 1, rows.stride_bytes);
  if (before_last < 0 || before_last > std::int64_t{1} << 62) return -1;
  return before_last + rows.row_bytes;
}

void copy_rows(const Rows& from, std::byte* to) {
  if (from.row_bytes == 0 || from.num_rows == 0) return;
  if (from.stride_bytes == from.row_bytes) {
    std::memcpy(to, from.data, static_cast<std::size_t>(from.num_rows * from.row_bytes));
    return;
  }
  for (std::int64_t row = 0; row < from.num_rows; ++row) {
    std::memcpy(to + row * from.row_bytes, from.data + row * from.stride_bytes,
                static_cast<std::size_t>(from.row_bytes));
  }
}

}  // namespace

Channel::Channel(std::shared_ptr<Group> group, const ChannelShape& shape)
    : group_(std::move(group)),
      shape_(shape),
      board_(group_->allocate(board_bytes(shape.num_chunks))),
      shared_(static_cast<std::size_t>(shape.num_chunks)),
      fetches_(static_cast<std::size_t>(shape.num_chunks)),
      header_checked_(static_cast<std::size_t>(group_->size()), 0) {
  std::memset(board_.data.get(), 0, static_cast<std::size_t>(board_.bytes));
  if (!group_->space().reads_any_memory()) {
    copies_ = group_->allocate(shape.own_bytes + shape.num_chunks * kLine);
  }
}

void Channel::connect(const Deadline& deadline) {
  connect(group_->exchange(introduction(), deadline, Purpose::kPlan));
}

// Where this rank's board lies.
std::string Channel::introduction() const {
  return cat(group_->space().address(board_.data.get(), board_.bytes));
}

void Channel::connect(const std::vector<std::string>& introductions) {
  number_ = group_->count_channel();
  for (int index = 0; index < group_->size(); ++index) {
    const std::string& text = introductions[static_cast<std::size_t>(index)];
    std::int64_t address = -1;
    std::from_chars(text.data(), text.data() + text.size(), address);
    const std::byte* at = group_->at(index, address, board_bytes(shape_.num_chunks));
    if (at == nullptr) {
      throw Error(ErrorCode::kPeerFailed,
                  cat("rank ", group_->rank_of(index), " tells of memory that it does not have"),
                  group_->rank_of(index));
    }
    boards_.push_back(reinterpret_cast<const Board*>(at));
  }
}

const Board& Channel::board_of(int peer) const { return *boards_[static_cast<std::size_t>(peer)]; }

const Offer& Channel::offer_at(const Board& board, int chunk) {
  return reinterpret_cast<const Offer*>(&board + 1)[chunk];
}

const Release& Channel::release_at(const Board& board, int chunk) const {
  return reinterpret_cast<const Release*>(&offer_at(board, shape_.num_chunks))[chunk];
}

void Channel::begin(const CallHeader& header) {
  group_->set_reading(true);
  group_->enter(kFirstCall + number_);
  header_ = header;
  copied_bytes_ = 0;
  Board& mine = *board_.data_as<Board>();
  mine.call = header.call;
  mine.m = header.m;
  mine.operation = header.operation;
}

// Where peers read a copy, the caller's x is its own again at once: the copy stays.
int Channel::quiesce(std::chrono::milliseconds limit) {
  if (!group_->space().reads_any_memory()) return -1;
  const int index = group_->await_readers(limit);
  return index < 0 ? -1 : group_->rank_of(index);
}

Rows Channel::copied(const Rows& rows) {
  const std::int64_t bytes = rows.num_rows * rows.row_bytes;
  CMM_DCHECK(copied_bytes_ + bytes <= copies_.bytes);
  std::byte* to = copies_.data.get() + copied_bytes_;
  copy_rows(rows, to);
  copied_bytes_ += ceil_div(bytes, kLine) * kLine;
  return {to, rows.num_rows, rows.row_bytes, rows.row_bytes};
}

void Channel::offer(int chunk, const Rows& rows) {
  CMM_DCHECK(released(chunk, header_.call - 1));
  const std::int64_t bytes = extent_bytes(rows);
  Rows& shared = shared_[static_cast<std::size_t>(chunk)];
  shared = rows;
  std::int64_t address = bytes == 0 ? 0 : group_->space().address(rows.data, bytes);
  if (address < 0) {
    shared = copied(rows);
    address = group_->space().address(shared.data, extent_bytes(shared));
  }
  Offer& mine = const_cast<Offer&>(offer_at(*board_.data_as<Board>(), chunk));
  mine.address = address;
  mine.num_rows = rows.num_rows;
  mine.row_bytes = rows.row_bytes;
  mine.stride_bytes = shared.stride_bytes;
  mine.offered.store(header_.call, std::memory_order_release);
  group_->wake(shape_.fetchers[static_cast<std::size_t>(chunk)]);
}

bool Channel::released(int chunk) {
  group_->check_alive();
  return released(chunk, header_.call);
}

bool Channel::released(int chunk, std::uint64_t call) const {
  for (const int peer : shape_.fetchers[static_cast<std::size_t>(chunk)]) {
    const Counter& released_in = release_at(board_of(peer), chunk).released;
    if (released_in.load(std::memory_order_acquire) >= call) continue;
    if (!group_->left(peer)) return false;
    if (released_in.load(std::memory_order_acquire) < call) group_->throw_left(peer);
  }
  return true;
}

bool Channel::offered(int peer, int chunk) {
  group_->check_alive();
  const Counter& offered_in = offer_at(board_of(peer), chunk).offered;
  if (offered_in.load(std::memory_order_acquire) < header_.call) {
    if (!group_->left(peer)) return false;
    if (offered_in.load(std::memory_order_acquire) < header_.call) group_->throw_left(peer);
  }
  check_header(peer);
  return true;
}

// A peer's header stays put from its offer until we release the chunk offered.
void Channel::check_header(int peer) {
  std::uint64_t& checked = header_checked_[static_cast<std::size_t>(peer)];
  if (checked == header_.call) return;
  const Board& board = board_of(peer);
  const CallHeader theirs = {board.call, board.m, board.operation};
  if (!(theirs == header_)) {
    group_->fail(
        Error(ErrorCode::kInvalidArgument,
              cat("ranks disagree on a call: rank ", group_->rank_of(group_->index()), " makes ",
                  describe(header_), ", rank ", group_->rank_of(peer), " ", describe(theirs))));
    throw group_->cause();
  }
  checked = header_.call;
}

Rows Channel::look(int peer, int chunk) const {
  const Offer& theirs = offer_at(board_of(peer), chunk);
  Rows rows = {nullptr, theirs.num_rows, theirs.row_bytes, theirs.stride_bytes};
  const std::int64_t bytes = extent_bytes(rows);
  if (bytes > 0) rows.data = group_->at(peer, theirs.address, bytes);
  if (bytes < 0 || (bytes > 0 && rows.data == nullptr)) {
    throw Error(ErrorCode::kPeerFailed,
                cat("rank ", group_->rank_of(peer), " offers chunk ", chunk,
                    " in memory that it does not have"),
                group_->rank_of(peer));
  }
  return rows;
}

void Channel::release(int peer, int chunk) {
  Release& mine = const_cast<Release&>(release_at(*board_.data_as<Board>(), chunk));
  mine.released.store(header_.call, std::memory_order_release);
  group_->wake({&peer, 1});
}

void Channel::fetch(int, int chunk, std::byte* into, std::int64_t num_rows,
                    std::int64_t row_bytes) {
  fetches_[static_cast<std::size_t>(chunk)] = {into, num_rows, row_bytes};
}

bool Channel::fetched(int peer, int chunk) {
  if (!offered(peer, chunk)) return false;
  const Fetch& fetch = fetches_[static_cast<std::size_t>(chunk)];
  const Rows from = look(peer, chunk);
  check_extents(from, {fetch.num_rows, fetch.row_bytes}, {group_->rank_of(peer), chunk});
  copy_rows(from, fetch.into);
  release(peer, chunk);
  return true;
}

int Channel::not_released_by(int chunk) const {
  for (const int peer : shape_.fetchers[static_cast<std::size_t>(chunk)]) {
    if (release_at(board_of(peer), chunk).released.load(std::memory_order_acquire) < header_.call) {
      return group_->rank_of(peer);
    }
  }
  return -1;
}

std::string Channel::silence_of(int peer) const { return group_->silence_of(peer); }

}  // namespace cmm::transport::memory
