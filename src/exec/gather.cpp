#include "exec/gather.hpp"

#include <algorithm>

#include "base/deadline.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/trace.hpp"

namespace cmm::exec {

Gather::Gather(const Config& config)
    : config_(config),
      schedule_(schedule::make_rank_schedule(config.shape, config.endpoint->rank())),
      num_chunks_(schedule::num_chunks(config.shape)),
      chunks_per_shard_(schedule::chunks_per_shard(config.shape)) {
  const auto count = static_cast<std::size_t>(num_chunks_);
  fetchers_.resize(count);
  for (const schedule::Transfer& transfer : schedule_.sends) {
    fetchers_[static_cast<std::size_t>(transfer.chunk)].push_back(transfer.to);
    crosses_hosts_ = crosses_hosts_ || !on_this_host(transfer.to);
  }
  in_place_from_.assign(count, schedule::kNone);
  int num_slots = 0;
  for (const schedule::Transfer& transfer : schedule_.receives) {
    crosses_hosts_ = crosses_hosts_ || !on_this_host(transfer.from);
    if (reads_in_place(transfer)) {
      in_place_.push_back(transfer);
      in_place_from_[static_cast<std::size_t>(transfer.chunk)] = transfer.from;
    } else {
      fetches_.push_back(transfer);
      num_slots = std::max(num_slots, transfer.write_slot + 1);
    }
  }
  where_.resize(count);
  consumed_ = std::vector<std::atomic<std::uint64_t>>(count);
  not_offered_.reserve(in_place_.size());
  started_.reserve(fetches_.size());
  arrived_.resize(count);
  if (num_slots > 0) {
    slots_ = config.endpoint->allocate(
        checked_product(num_slots, checked_product(config.max_chunk_rows, config.row_bytes)));
  }
}

bool Gather::on_this_host(int peer) const {
  const std::vector<int>& hosts = config_.endpoint->hosts();
  return hosts[static_cast<std::size_t>(peer)] == hosts[static_cast<std::size_t>(rank())];
}

bool Gather::reads_in_place(const schedule::Transfer& transfer) const {
  const bool may_read = config_.shape.algorithm == schedule::Algorithm::kDirect ||
                        config_.shape.algorithm == schedule::Algorithm::kHierarchical;
  return may_read && on_this_host(transfer.from) && !forwards(transfer.chunk);
}

transport::ChannelShape Gather::channel_shape() const {
  const std::int64_t chunk_bytes = checked_product(config_.max_chunk_rows, config_.row_bytes);
  return {.num_chunks = num_chunks_,
          .fetchers = fetchers_,
          .own_bytes = checked_product(chunks_per_shard_, chunk_bytes),
          .max_chunk_bytes = chunk_bytes};
}

void Gather::begin(const transport::CallHeader& header, const ConstMatrixRef& x,
                   const schedule::Partition& partition) {
  call_ = header.call;
  partition_ = &partition;
  num_taken_ = 0;
  num_drained_ = 0;
  stalled_.store(false, std::memory_order_relaxed);
  num_started_ = 0;
  started_.clear();
  num_arrived_.store(0, std::memory_order_relaxed);
  not_offered_.clear();
  for (std::size_t i = 0; i < in_place_.size(); ++i) not_offered_.push_back(static_cast<int>(i));
  channel_->begin(header);
  const int first = rank() * chunks_per_shard_;
  const std::int64_t first_row = partition.chunk(first).begin;
  const std::int64_t stride_bytes = x.row_stride * static_cast<std::int64_t>(dtype_bytes(x.dtype));
  for (int chunk = first; chunk < first + chunks_per_shard_; ++chunk) {
    const Range range = partition.chunk(chunk);
    const transport::Rows own = {
        static_cast<const std::byte*>(x.data) + (range.begin - first_row) * stride_bytes,
        range.size(), config_.row_bytes, stride_bytes};
    if (forwards(chunk)) channel_->offer(chunk, own);
    arrive(chunk, own);
  }
}

void Gather::arrive(int chunk, const transport::Rows& rows) {
  where_[static_cast<std::size_t>(chunk)] = rows;
  const int i = num_arrived_.load(std::memory_order_relaxed);
  arrived_[static_cast<std::size_t>(i)] = chunk;
  num_arrived_.store(i + 1, std::memory_order_release);
  history().arrived(i + 1);
}

void Gather::progress(int thread) {
  const bool all_here = num_arrived_.load(std::memory_order_relaxed) == num_chunks_;
  if (all_here && !crosses_hosts_) return;
  if (thread != 0 && !channel_->any_thread()) return;
  bool idle = false;
  if (!moving_.compare_exchange_strong(idle, true, std::memory_order_acquire)) return;
  struct Unlock {
    std::atomic<bool>& moving;
    ~Unlock() { moving.store(false, std::memory_order_release); }
  } const unlock{moving_};
  channel_->poll();
  look_in_place();
  start_fetches();
  take_fetched(thread);
}

void Gather::look_in_place() {
  std::size_t num_left = 0;
  for (const int i : not_offered_) {
    const schedule::Transfer& transfer = in_place_[static_cast<std::size_t>(i)];
    if (!channel_->offered(transfer.from, transfer.chunk)) {
      not_offered_[num_left++] = i;
      continue;
    }
    const transport::Rows rows = channel_->look(transfer.from, transfer.chunk);
    transport::check_extents(rows, {partition_->chunk(transfer.chunk).size(), config_.row_bytes},
                             {transfer.from, transfer.chunk});
    arrive(transfer.chunk, rows);
  }
  not_offered_.resize(num_left);
}

bool Gather::slot_is_free(const schedule::Transfer& transfer) {
  if (transfer.after == schedule::kNone) return true;
  const auto before = static_cast<std::size_t>(transfer.after);
  return consumed_[before].load(std::memory_order_acquire) == call_ &&
         (!forwards(transfer.after) || channel_->released(transfer.after));
}

std::byte* Gather::slot_of(const schedule::Transfer& transfer) const {
  return slots_.data.get() + transfer.write_slot * config_.max_chunk_rows * config_.row_bytes;
}

void Gather::start_fetches() {
  for (; num_started_ < fetches_.size(); ++num_started_) {
    const schedule::Transfer& transfer = fetches_[num_started_];
    if (!slot_is_free(transfer)) break;
    channel_->fetch(transfer.from, transfer.chunk, slot_of(transfer),
                    partition_->chunk(transfer.chunk).size(), config_.row_bytes);
    started_.push_back({static_cast<int>(num_started_), now_ns()});
  }
  stalled_.store(started_.empty() && num_started_ < fetches_.size(), std::memory_order_relaxed);
}

// At most one chunk a call is copied, so that a thread that multiplies is not kept from it for
// long. Landed messages cost nothing to take.
void Gather::take_fetched(int thread) {
  std::size_t num_left = 0;
  bool copied = false;
  for (const Started& started : started_) {
    const schedule::Transfer& transfer = fetches_[static_cast<std::size_t>(started.fetch)];
    const bool here = on_this_host(transfer.from);
    const std::int64_t begin_ns = here ? now_ns() : started.begin_ns;
    if ((here && copied) || !channel_->fetched(transfer.from, transfer.chunk)) {
      started_[num_left++] = started;
      continue;
    }
    copied = copied || here;
    const transport::Rows rows = {slot_of(transfer), partition_->chunk(transfer.chunk).size(),
                                  config_.row_bytes, config_.row_bytes};
    if (forwards(transfer.chunk)) channel_->offer(transfer.chunk, rows);
    if (config_.trace != nullptr) {
      config_.trace->record(
          {SpanKind::kTransfer, rank(), thread, begin_ns, now_ns(), transfer.chunk, transfer.from});
    }
    arrive(transfer.chunk, rows);
  }
  started_.resize(num_left);
}

std::span<const int> Gather::take_arrived() {
  const int num_arrived = num_arrived_.load(std::memory_order_acquire);
  const std::span<const int> taken(arrived_.data() + num_taken_,
                                   static_cast<std::size_t>(num_arrived - num_taken_));
  num_taken_ = num_arrived;
  return taken;
}

const schedule::Transfer* Gather::awaited() const {
  const schedule::Transfer* first = nullptr;
  const schedule::Transfer* from_owner = nullptr;
  const auto see = [&](const schedule::Transfer& transfer) {
    if (first == nullptr) first = &transfer;
    if (from_owner == nullptr && transfer.from == owner(transfer.chunk)) from_owner = &transfer;
  };
  for (const int i : not_offered_) see(in_place_[static_cast<std::size_t>(i)]);
  for (const Started& started : started_) see(fetches_[static_cast<std::size_t>(started.fetch)]);
  for (std::size_t i = num_started_; i < fetches_.size(); ++i) see(fetches_[i]);
  return from_owner != nullptr ? from_owner : first;
}

int Gather::awaited_peer() const {
  const schedule::Transfer* transfer = awaited();
  return transfer == nullptr ? -1 : transfer->from;
}

void Gather::consumed(int chunk) {
  const int from = in_place_from_[static_cast<std::size_t>(chunk)];
  if (from != schedule::kNone) channel_->release(from, chunk);
  consumed_[static_cast<std::size_t>(chunk)].store(call_, std::memory_order_release);
}

bool Gather::drained() {
  while (num_drained_ < schedule_.sends.size() &&
         channel_->released(schedule_.sends[num_drained_].chunk)) {
    ++num_drained_;
  }
  return num_drained_ == schedule_.sends.size();
}

Gather::Missing Gather::not_arrived() const {
  const schedule::Transfer* transfer = awaited();
  if (transfer == nullptr) return {};
  return missing(transfer->from,
                 cat("chunk ", transfer->chunk, " (step ", transfer->step, ", rows of rank ",
                     owner(transfer->chunk), ") from rank ", transfer->from));
}

int Gather::peer_not_drained() const {
  const schedule::Transfer& transfer = schedule_.sends[num_drained_];
  const int peer = channel_->not_released_by(transfer.chunk);
  return peer < 0 ? transfer.to : peer;
}

Gather::Missing Gather::first_not_drained() const {
  const schedule::Transfer& transfer = schedule_.sends[num_drained_];
  const int peer = peer_not_drained();
  return missing(peer, cat("rank ", peer, " to read chunk ", transfer.chunk, " (step ",
                           transfer.step, ", rows of rank ", owner(transfer.chunk), ")"));
}

Gather::Missing Gather::missing(int peer, const std::string& what) const {
  const int at_fault = channel_->held_up_by(peer);
  const std::string chain =
      at_fault == peer ? "" : cat("; rank ", peer, " waits too, in the end for rank ", at_fault);
  return {at_fault, cat(what, chain, "; ", channel_->silence_of(at_fault))};
}

}  // namespace cmm::exec
