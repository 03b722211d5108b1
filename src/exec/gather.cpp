#include "exec/gather.hpp"

#include <cstring>

#include "base/deadline.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/trace.hpp"

namespace cmm::exec {

Gather::Gather(const Config& config)
    : config_(config),
      schedule_(schedule::make_rank_schedule(config.shape, config.rank)),
      chunks_per_shard_(schedule::chunks_per_shard(config.shape)) {
  num_chunks_ = schedule::num_chunks(config.shape);
  const auto count = static_cast<std::size_t>(num_chunks_);
  num_fetchers_.assign(count, 0);
  for (const schedule::Transfer& transfer : schedule_.sends) {
    ++num_fetchers_[static_cast<std::size_t>(transfer.chunk)];
  }
  where_.resize(count);
  consumed_ = std::vector<std::atomic<std::uint64_t>>(count);
  pending_.reserve(schedule_.receives.size());
  arrived_.resize(count);
  if (!config.in_place) {
    slots_ = AlignedBuffer(checked_product(
        schedule_.num_slots, checked_product(config.max_chunk_rows, config.row_bytes)));
  }
}

transport::ChannelShape Gather::channel_shape() const { return {num_chunks_, num_fetchers_}; }

void Gather::begin(const transport::CallHeader& header, const ConstMatrixRef& x,
                   const schedule::Partition& partition) {
  call_ = header.call;
  partition_ = &partition;
  num_taken_ = 0;
  num_drained_ = 0;
  stalled_ = false;
  next_receive_ = 0;
  num_arrived_.store(0, std::memory_order_relaxed);
  pending_.clear();
  if (config_.in_place) {
    for (std::size_t i = 0; i < schedule_.receives.size(); ++i) {
      pending_.push_back(static_cast<int>(i));
    }
  }
  channel_->begin(header);
  const int first = config_.rank * chunks_per_shard_;
  const std::int64_t first_row = partition.chunk(first).begin;
  const std::int64_t stride_bytes = x.row_stride * static_cast<std::int64_t>(dtype_bytes(x.dtype));
  for (int chunk = first; chunk < first + chunks_per_shard_; ++chunk) {
    const Range range = partition.chunk(chunk);
    const transport::Rows own = {
        static_cast<const std::byte*>(x.data) + (range.begin - first_row) * stride_bytes,
        range.size(), config_.row_bytes, stride_bytes};
    if (num_fetchers(chunk) > 0) channel_->offer(chunk, own);
    arrive(chunk, own);
  }
}

void Gather::arrive(int chunk, const transport::Rows& rows) {
  where_[static_cast<std::size_t>(chunk)] = rows;
  const int i = num_arrived_.load(std::memory_order_relaxed);
  arrived_[static_cast<std::size_t>(i)] = chunk;
  num_arrived_.store(i + 1, std::memory_order_release);
}

// A size that a peer wrote is compared with our own before anything is read by it.
void Gather::check_rows(int peer, int chunk, const transport::Rows& rows) const {
  const std::int64_t expected = partition_->chunk(chunk).size();
  if (rows.num_rows == expected && rows.row_bytes == config_.row_bytes) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat("rank ", peer, " offers chunk ", chunk, " as ", rows.num_rows, " rows of ",
                  rows.row_bytes, " bytes; rank ", config_.rank, " expects ", expected, " rows of ",
                  config_.row_bytes, " bytes"));
}

void Gather::progress(int thread) {
  if (num_arrived_.load(std::memory_order_relaxed) == num_chunks_) return;
  bool idle = false;
  if (!moving_.compare_exchange_strong(idle, true, std::memory_order_acquire)) return;
  struct Unlock {
    std::atomic<bool>& moving;
    ~Unlock() { moving.store(false, std::memory_order_release); }
  } const unlock{moving_};
  if (config_.in_place) {
    progress_in_place();
  } else {
    progress_copying(thread);
  }
}

void Gather::progress_in_place() {
  std::size_t num_left = 0;
  for (const int i : pending_) {
    const schedule::Transfer& transfer = schedule_.receives[static_cast<std::size_t>(i)];
    if (!channel_->offered(transfer.from, transfer.chunk)) {
      pending_[num_left++] = i;
      continue;
    }
    const transport::Rows rows = channel_->look(transfer.from, transfer.chunk);
    check_rows(transfer.from, transfer.chunk, rows);
    arrive(transfer.chunk, rows);
  }
  pending_.resize(num_left);
}

bool Gather::slot_is_free(const schedule::Transfer& transfer) {
  if (transfer.after == schedule::kNone) return true;
  const auto before = static_cast<std::size_t>(transfer.after);
  return consumed_[before].load(std::memory_order_acquire) == call_ &&
         (num_fetchers_[before] == 0 || channel_->released(transfer.after));
}

void Gather::progress_copying(int thread) {
  // At most one chunk a call, so that a thread that multiplies is not kept from it for long.
  if (next_receive_ == schedule_.receives.size()) return;
  const schedule::Transfer& transfer = schedule_.receives[next_receive_];
  if (!channel_->offered(transfer.from, transfer.chunk)) return;
  stalled_ = !slot_is_free(transfer);
  if (stalled_) return;
  const transport::Rows from = channel_->look(transfer.from, transfer.chunk);
  check_rows(transfer.from, transfer.chunk, from);
  const std::int64_t begin_ns = config_.trace != nullptr ? now_ns() : 0;
  std::byte* slot =
      slots_.data() + transfer.write_slot * config_.max_chunk_rows * config_.row_bytes;
  // k = 0: there may be no memory on either side, which memcpy does not forgive.
  const std::int64_t num_copies = from.row_bytes > 0 ? from.num_rows : 0;
  for (std::int64_t row = 0; row < num_copies; ++row) {
    std::memcpy(slot + row * from.row_bytes, from.data + row * from.stride_bytes,
                static_cast<std::size_t>(from.row_bytes));
  }
  channel_->release(transfer.from, transfer.chunk);
  const transport::Rows here = {slot, from.num_rows, from.row_bytes, from.row_bytes};
  if (num_fetchers(transfer.chunk) > 0) channel_->offer(transfer.chunk, here);
  if (config_.trace != nullptr) {
    config_.trace->record({SpanKind::kTransfer, config_.rank, thread, begin_ns, now_ns(),
                           transfer.chunk, transfer.from});
  }
  ++next_receive_;
  arrive(transfer.chunk, here);
}

std::span<const int> Gather::take_arrived() {
  const int num_arrived = num_arrived_.load(std::memory_order_acquire);
  const std::span<const int> taken(arrived_.data() + num_taken_,
                                   static_cast<std::size_t>(num_arrived - num_taken_));
  num_taken_ = num_arrived;
  return taken;
}

void Gather::consumed(int chunk) {
  const int from = owner(chunk);
  if (config_.in_place && from != config_.rank) channel_->release(from, chunk);
  consumed_[static_cast<std::size_t>(chunk)].store(call_, std::memory_order_release);
}

bool Gather::drained() {
  while (num_drained_ < schedule_.sends.size() &&
         channel_->released(schedule_.sends[num_drained_].chunk)) {
    ++num_drained_;
  }
  return num_drained_ == schedule_.sends.size();
}

Gather::Missing Gather::first_not_arrived() const {
  for (const schedule::Transfer& transfer : schedule_.receives) {
    bool arrived = false;
    for (int i = 0; i < num_arrived_.load(std::memory_order_acquire); ++i) {
      arrived = arrived || arrived_[static_cast<std::size_t>(i)] == transfer.chunk;
    }
    if (arrived) continue;
    return {transfer.from,
            cat("chunk ", transfer.chunk, " (step ", transfer.step, ", rows of rank ",
                owner(transfer.chunk), ") from rank ", transfer.from)};
  }
  return {};
}

Gather::Missing Gather::first_not_drained() const {
  const schedule::Transfer& transfer = schedule_.sends[num_drained_];
  return {transfer.to,
          cat("rank ", transfer.to, " or another peer to read chunk ", transfer.chunk, " (step ",
              transfer.step, ", rows of rank ", owner(transfer.chunk), ")")};
}

}  // namespace cmm::exec
