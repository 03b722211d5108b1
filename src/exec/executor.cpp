#include "exec/executor.hpp"

#include <algorithm>
#include <cstring>

#include "base/float_environment.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "exec/span_timer.hpp"

namespace cmm::exec {
namespace {

// Fewer rows than this read the weights from memory faster than they can be multiplied, so a wave
// that small is worth a short wait for more (full speed begins at 64 rows).
constexpr std::int64_t kWaveRows = 64;
// Rows of a wave: four blocks of accumulators. With more, the packed rows of a wave leave the last
// cache; with fewer, weights are read from memory more often than needed.
constexpr std::int64_t kMaxWaveRows = std::int64_t{4} * gemm::kMaxTiles * gemm::kTileRows;

constexpr std::int64_t kWaitForRestNs = 20'000;
constexpr std::int64_t kWaitForRowsNs = 200'000;
// Another wave reads and packs a view of y anew, of which multiplying hides all but 1 ns for so
// many bytes (Zen 4). So much, but no longer than for rows, is worth waiting to be spared it.
constexpr std::int64_t kViewBytesPerNs = 20;

constexpr std::int64_t kLookAtPeersNs = 20'000'000;

// A claim of a call that copies chunks is short, because chunks move between claims.
constexpr double kPolledClaimFlops = 2e7;  // 100-200 us on the cores measured

constexpr std::int64_t kPackTiles = 8;            // tiles of a chunk packed as one unit
constexpr std::int64_t kDecodePackElems = 16384;  // elements of x packed as one unit

// Panels of the smallest claim: the columns of a register tile, or two streams of memory.
constexpr std::int64_t kUnitPanels = 2;
// Of few rows and a row-major view a claim is a whole group, and groups are even: a narrower claim
// looks up the same pages of y. As claims of two threads shrink to units at the end, 1 to 8 rows
// took 1.15 to 1.5 times as long, 16 rows 1.1 to 1.2 times (processor time, Zen 4, n = 8192).
constexpr std::int64_t kMaxTilesOfWholeClaims = 10;
// While the last unit is multiplied the other threads wait: 1 part in 64 of the time at most.
constexpr std::int64_t kMinUnitsPerThread = 64;

// Copies rows of `from` to row `to_row` + the same of `to`.
void copy_rows(const ConstMatrixRef& from, const MatrixRef& to, Range rows, std::int64_t to_row) {
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(from.dtype));
  const auto row_bytes = static_cast<std::size_t>(from.cols * elem_bytes);
  if (row_bytes == 0) return;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::memcpy(static_cast<std::byte*>(to.data) + (to_row + row) * to.row_stride * elem_bytes,
                static_cast<const std::byte*>(from.data) + row * from.row_stride * elem_bytes,
                row_bytes);
  }
}

std::int64_t wait_for_rest_ns(const gemm::Product& product) {
  std::int64_t bytes = 0;
  for (const gemm::Side& side : product.sides) {
    if (side.view == nullptr) continue;
    bytes += side.view->rows * side.view->cols *
             static_cast<std::int64_t>(dtype_bytes(side.view->dtype));
  }
  return std::clamp(bytes / kViewBytesPerNs, kWaitForRestNs, kWaitForRowsNs);
}

std::int64_t max_wave_rows(std::int64_t max_m) { return std::min(max_m, kMaxWaveRows); }

}  // namespace

Executor::Executor(const Config& config)
    : config_(config),
      gather_(config.gather),
      team_(config.num_threads),
      packed_(
          gemm::packed_bytes(*config.kernels, config.dtype, max_wave_rows(config.max_m), config.k)),
      workspaces_(static_cast<std::size_t>(config.num_threads)),
      library_(config.num_threads),
      num_steps_(gemm::num_steps(*config.kernels, config.dtype, config.k)),
      barrier_(config.num_threads),
      rounds_(static_cast<std::size_t>(config.num_threads)),
      queue_(gather_.num_chunks(), kMaxWaveRows),
      units_left_(static_cast<std::size_t>(gather_.num_chunks())) {
  const auto num_chunks = static_cast<std::size_t>(gather_.num_chunks());
  wave_.reserve(num_chunks);
  const auto max_tiles =
      static_cast<std::size_t>(max_wave_rows(config.max_m) / gemm::kTileRows + 1) + num_chunks;
  tiles_.reserve(max_tiles);
  const std::int64_t decode_units =
      gemm::max_decode_rows(*config.kernels, config.dtype) * config.k / kDecodePackElems + 1;
  pack_units_.reserve(max_tiles + num_chunks * 2 + static_cast<std::size_t>(decode_units));
  std::int64_t max_groups = 0;
  for (const std::int64_t n : config.n_local) {
    max_groups += ceil_div(n, gemm::kPanelColumns * kUnitPanels) + 1;
  }
  groups_.reserve(static_cast<std::size_t>(max_groups));
}

std::int64_t Executor::workspace_bytes() const {
  return gather_.slot_bytes() + packed_.bytes() + library_.bytes() +
         static_cast<std::int64_t>(workspaces_.size()) * gemm::Workspace::bytes();
}

bool Executor::decode() const {
  return call_->m <= gemm::max_decode_rows(*config_.kernels, config_.dtype);
}

void Executor::run(const Call& call, const schedule::Partition& partition) {
  const Deadline deadline(config_.deadline, gather_.history().begin_ns());
  const SpanTimer span(config_.trace, SpanKind::kCall, gather_.rank(), 0);
  call_ = &call;
  in_tiles_ = !gemm::multiplies_decode(call.product, call.m);
  wait_for_rest_ns_ = wait_for_rest_ns(call.product);
  partition_ = &partition;
  deadline_ = &deadline;
  looked_ns_ = now_ns();
  queue_.clear();
  hook_(Point::kBegun, 0);
  gather_.begin(call.header, call.x, partition);
  hook_(Point::kOffered, 0);
  if (!call.product.sides.empty() && call.product.sides[0].library != nullptr) {
    run_with_library();
    return;
  }
  team_.run([](void* self, int thread) { static_cast<Executor*>(self)->work(thread); }, this);
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
}

void Executor::run_with_library() {
  const DefaultFloatEnvironment environment;
  hook_(Point::kEntered, 0);
  do {
    await_wave();
    hook_(Point::kArrived, 0);
    for (const Part& part : wave_) stage(part);
    if (last_wave_) gather_.end();
    multiply_staged();
  } while (!last_wave_);
  drain();
}

// Copies a part to its rows of the wave. The copy costs under 1 % of the product and saves reading
// the weights once per chunk.
void Executor::stage(const Part& part) {
  gather_.check_alive();
  const SpanTimer span(config_.trace, SpanKind::kPack, gather_.rank(), 0, part.chunk,
                       gather_.owner(part.chunk));
  const ConstMatrixRef x = rows_of(part);
  copy_rows(x, {packed_.data(), x.dtype, x.rows, x.cols, x.cols}, {0, x.rows}, part.wave_row);
  copy_gathered(part, {0, x.rows});
  hook_(Point::kPacked, 0);
  packed(part);
}

// Parts that are neighbours in the gathered x are neighbours in the wave and multiplied as one.
void Executor::multiply_staged() {
  const std::int64_t row_bytes = config_.gather.row_bytes;
  for (std::size_t i = 0; i < wave_.size();) {
    const std::int64_t wave_row = wave_[i].wave_row;
    Range rows = wave_[i].rows;
    for (++i; i < wave_.size() && wave_[i].rows.begin == rows.end; ++i)
      rows.end = wave_[i].rows.end;
    hook_(Point::kClaimed, 0);
    const SpanTimer span(config_.trace, SpanKind::kMultiply, gather_.rank(), 0, rows.begin, 0);
    library_.multiply(
        call_->product,
        {packed_.data() + wave_row * row_bytes, config_.dtype, rows.size(), config_.k, config_.k},
        rows.begin);
    gather_.progress(0);
    look_at_peers();
  }
}

void Executor::work(int thread) noexcept {
  const DefaultFloatEnvironment environment;
  try {
    work_or_throw(thread);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }
}

void Executor::work_or_throw(int thread) {
  std::uint64_t round = rounds_[static_cast<std::size_t>(thread)].value;
  hook_(thread == 0 ? Point::kEntered : Point::kClaimed, thread);
  for (;;) {
    if (thread == 0) choose_wave();
    if (!barrier_.meet(round, failed_)) return;
    pack(thread);
    if (!barrier_.meet(round, failed_)) return;
    // Fixed now: after the next barrier thread 0 chooses the next wave.
    const bool last = last_wave_;
    if (last && thread == 0) gather_.end();
    if (multiply_wave_) multiply(thread);
    if (last) break;
    if (!barrier_.meet(round, failed_)) return;
  }
  rounds_[static_cast<std::size_t>(thread)].value = round;
  if (thread == 0) drain();
}

// Chooses the wave and lists the packing and multiplying it needs.
void Executor::choose_wave() {
  pack_units_.clear();
  tiles_.clear();
  await_wave();
  hook_(Point::kArrived, 0);
  for (std::size_t part = 0; part < wave_.size(); ++part) list_packing(part);
  const bool any_product = !call_->product.sides.empty();
  if (decode() && last_wave_ && in_tiles()) list_tiles(packed_.data(), {0, call_->m});
  multiply_wave_ = any_product && (in_tiles() ? !tiles_.empty() : last_wave_);
  pack_claims_.reset({.num_units = static_cast<std::int64_t>(pack_units_.size()),
                      .max_claim = 1,
                      .boundary = 1,
                      .num_threads = team_.num_threads()});
  if (multiply_wave_) plan_multiply();
}

// Fills wave_ from what has arrived, having waited for something to arrive.
void Executor::await_wave() {
  const SpanTimer span(config_.trace, SpanKind::kWait, gather_.rank(), 0);
  std::int64_t begin_ns = 0;
  bool late = false;
  transport::Wait wait(gather_.dozer());
  for (;;) {
    gather_.progress(0);
    for (const int chunk : gather_.take_arrived()) queue_.add(chunk, partition_->chunk(chunk));
    if (gather_.num_not_taken() == 0 || failed_.load(std::memory_order_acquire)) break;
    if (!queue_.empty()) {
      if (gather_.stalled() || queue_.num_rows() >= kMaxWaveRows) break;
      if (begin_ns == 0) begin_ns = now_ns();
      const std::int64_t waited_ns = now_ns() - begin_ns;
      if (waited_ns > (queue_.num_rows() < kWaveRows ? kWaitForRowsNs : wait_for_rest_ns_)) break;
    }
    if (late) miss_deadline(gather_.not_arrived());
    wait.pause();
    if (!wait.time_to_check()) continue;
    gather_.history().waiting_for(gather_.awaited_peer());
    // Of a pause that was longer than it should be: what came in it is looked at first.
    late = wait.expired(*deadline_);
  }
  queue_.take(wave_);
  last_wave_ = gather_.num_not_taken() == 0 && queue_.empty();
}

void Executor::list_packing(std::size_t part) {
  const Part& of = wave_[part];
  const std::int64_t num_rows = of.rows.size();
  const std::size_t num_before = pack_units_.size();
  if (num_rows > 0 && decode()) {
    const std::int64_t num_units = num_rows * config_.k / kDecodePackElems + 1;
    for (std::int64_t unit = 0; unit < num_units; ++unit) {
      pack_units_.push_back({part, even_part(num_steps_, num_units, unit)});
    }
  } else if (num_rows > 0) {
    list_tiles(packed_part(of), of.rows);
    const std::int64_t num_tiles = gemm::num_tiles(num_rows);
    for (std::int64_t tile = 0; tile < num_tiles; tile += kPackTiles) {
      pack_units_.push_back({part, {tile, std::min(tile + kPackTiles, num_tiles)}});
    }
  }
  const auto num_units = static_cast<int>(pack_units_.size() - num_before);
  units_left_[part].store(num_units, std::memory_order_relaxed);
  if (num_units == 0) packed(of);
}

// Rows of the gathered x that are packed together.
void Executor::list_tiles(const std::byte* packed, Range rows) {
  for (std::int64_t tile = 0; tile < gemm::num_tiles(rows.size()); ++tile) {
    const Range part = gemm::tile_rows(rows.size(), tile);
    tiles_.push_back(
        {packed, rows.size(), part.begin, rows.begin + part.begin, static_cast<int>(part.size())});
  }
}

// The rows of x as they lie at their owner or in a slot.
ConstMatrixRef Executor::rows_of(const Part& part) const {
  const transport::Rows& from = gather_.rows(part.chunk);
  const std::int64_t skipped = part.rows.begin - partition_->chunk(part.chunk).begin;
  return {from.data + skipped * from.stride_bytes, config_.dtype, part.rows.size(), config_.k,
          from.stride_bytes / static_cast<std::int64_t>(dtype_bytes(config_.dtype))};
}

std::byte* Executor::packed_part(const Part& part) {
  return packed_.data() + part.wave_row * num_steps_ * gemm::kStepBytes;
}

// Nobody reads the part's rows of x any more.
void Executor::packed(const Part& part) {
  if (part.last) gather_.consumed(part.chunk);
}

void Executor::pack(int thread) {
  for (;;) {
    const Range claim = pack_claims_.claim();
    if (claim.size() == 0) return;
    gather_.check_alive();  // a peer that failed may free its rows once we stop reading them
    const PackUnit& unit = pack_units_[static_cast<std::size_t>(claim.begin)];
    const Part& part = wave_[unit.part];
    const SpanTimer span(config_.trace, SpanKind::kPack, gather_.rank(), thread, part.chunk,
                         gather_.owner(part.chunk));
    pack_unit(unit);
    hook_(Point::kPacked, thread);
    if (units_left_[unit.part].fetch_sub(1, std::memory_order_acq_rel) == 1) packed(part);
  }
}

void Executor::pack_unit(const PackUnit& unit) {
  const Part& part = wave_[unit.part];
  const ConstMatrixRef x = rows_of(part);
  const bool any_product = !call_->product.sides.empty();
  if (decode()) {
    if (any_product) {
      gemm::pack_decode({.kernels = config_.kernels,
                         .x = x,
                         .first_row = part.rows.begin,
                         .m = call_->m,
                         .steps = unit.range,
                         .packed = packed_.data(),
                         .in_tiles = in_tiles()});
    }
    // The rows are few: the unit of the first steps copies them whole.
    if (unit.range.begin == 0) copy_gathered(part, {0, x.rows});
    return;
  }
  if (any_product) gemm::pack_tiles(*config_.kernels, x, unit.range, packed_part(part));
  copy_gathered(part, {gemm::tile_rows(x.rows, unit.range.begin).begin,
                       gemm::tile_rows(x.rows, unit.range.end - 1).end});
}

void Executor::copy_gathered(const Part& part, Range rows) const {
  if (call_->gathered.data == nullptr) return;
  copy_rows(rows_of(part), call_->gathered, rows, part.rows.begin);
}

// Under SwiGLU the columns of gate and up are multiplied together.
std::size_t Executor::num_column_sides() const {
  return call_->product.swiglu ? 1 : call_->product.sides.size();
}

std::int64_t Executor::num_column_panels() const {
  std::int64_t num_panels = 0;
  for (std::size_t side = 0; side < num_column_sides(); ++side) {
    num_panels += call_->product.sides[side].num_panels();
  }
  return num_panels;
}

void Executor::list_groups(std::int64_t group_panels) {
  groups_.clear();
  const gemm::Product& product = call_->product;
  for (std::size_t side = 0; side < num_column_sides(); ++side) {
    const std::int64_t num_panels = product.sides[side].num_panels();
    for (std::int64_t panel = 0; panel < num_panels; panel += group_panels) {
      groups_.push_back(
          {static_cast<int>(side), panel, std::min(group_panels, num_panels - panel)});
    }
  }
}

// Tall calls read a view less often, but leave fewer units for the threads to share.
gemm::CallLimits Executor::tile_limits(std::int64_t num_tiles) const {
  const gemm::CallLimits tall = gemm::call_limits(call_->product, num_tiles);
  if (tall.tiles <= gemm::kMaxTiles || team_.num_threads() == 1) return tall;
  const std::int64_t num_units =
      num_column_panels() / kUnitPanels * ceil_div(num_tiles, tall.tiles);
  if (num_units >= kMinUnitsPerThread * team_.num_threads()) return tall;
  return gemm::call_limits(call_->product, gemm::kMaxTiles);
}

// As many panels up to `max_panels` as give every thread equally many groups, two at least: what
// one thread is kept from, another can take.
std::int64_t Executor::even_group(std::int64_t max_panels) const {
  const std::int64_t num_threads = team_.num_threads();
  const std::int64_t per_thread = std::max<std::int64_t>(
      num_threads == 1 ? 1 : 2, ceil_div(num_column_panels(), num_threads * max_panels));
  const std::int64_t even = ceil_div(num_column_panels(), per_thread * num_threads);
  return std::clamp(round_up(even, kUnitPanels), kUnitPanels, max_panels);
}

// Units are (column group, row block, panels of the group), the last fastest: consecutive
// claims share a block of x in L2, and a group's columns, once read from memory, serve all rows.
void Executor::plan_multiply() {
  const auto num_tiles = static_cast<std::int64_t>(tiles_.size());
  const gemm::CallLimits limits =
      in_tiles() ? tile_limits(num_tiles)
                 : gemm::CallLimits{.tiles = 1,
                                    .panels = gemm::max_decode_panels(call_->product, call_->m)};
  const bool polled = gather_.crosses_hosts() || (gather_.fetches() && !last_wave_);
  const bool whole =
      !polled && num_tiles <= kMaxTilesOfWholeClaims && gemm::any_row_major_view(call_->product);
  const std::int64_t group_panels = whole ? even_group(limits.panels) : limits.panels;
  unit_panels_ = whole ? group_panels : kUnitPanels;
  list_groups(group_panels);
  units_per_block_ = group_panels / unit_panels_;
  num_row_blocks_ = in_tiles() ? ceil_div(num_tiles, limits.tiles) : 1;
  std::int64_t max_claim = units_per_block_;
  if (polled) {
    const double rows = static_cast<double>(call_->m) / static_cast<double>(num_row_blocks_);
    const double unit_flops = 2.0 * rows * static_cast<double>(config_.k) * gemm::kPairColumns;
    max_claim = std::clamp(static_cast<std::int64_t>(kPolledClaimFlops / (unit_flops + 1.0)),
                           std::int64_t{1}, units_per_block_);
  }
  multiply_claims_.reset(
      {.num_units = static_cast<std::int64_t>(groups_.size()) * num_row_blocks_ * units_per_block_,
       .max_claim = max_claim,
       .boundary = units_per_block_,
       .num_threads = team_.num_threads()});
}

// A rank that has died while this one multiplies is noticed now, not when the multiply is done.
void Executor::look_at_peers() {
  const std::int64_t now = now_ns();
  deadline_->look(now);
  if (now - looked_ns_ < kLookAtPeersNs) return;
  looked_ns_ = now;
  gather_.check_peers();
}

void Executor::multiply(int thread) {
  for (;;) {
    const Range claim = multiply_claims_.claim();
    if (claim.size() == 0) return;
    gather_.check_alive();
    if (thread == 0) look_at_peers();
    hook_(Point::kClaimed, thread);
    const std::int64_t block = claim.begin / units_per_block_;
    multiply_block(thread, groups_[static_cast<std::size_t>(block / num_row_blocks_)],
                   block % num_row_blocks_,
                   {claim.begin % units_per_block_, (claim.end - 1) % units_per_block_ + 1});
    gather_.progress(thread);
  }
}

// Units [units.begin, units.end) of a group; the last group of a side may have fewer panels.
void Executor::multiply_block(int thread, const ColumnGroup& group, std::int64_t row_block,
                              Range units) {
  const std::int64_t begin = std::min(units.begin * unit_panels_, group.num_panels);
  const std::int64_t end = std::min(units.end * unit_panels_, group.num_panels);
  if (begin == end) return;
  const gemm::ColumnRange columns = {group.side, group.first_panel + begin,
                                     group.first_panel + end};
  gemm::Workspace& workspace = workspaces_[static_cast<std::size_t>(thread)];
  const std::int64_t first_column = columns.first_panel * gemm::kPanelColumns;
  if (!in_tiles()) {
    const SpanTimer span(config_.trace, SpanKind::kMultiply, gather_.rank(), thread, 0,
                         first_column);
    gemm::multiply_decode(call_->product, packed_.data(), call_->m, columns, workspace);
    return;
  }
  const Range part =
      even_part(static_cast<std::int64_t>(tiles_.size()), num_row_blocks_, row_block);
  const std::span<const gemm::RowTile> tiles(tiles_.data() + part.begin,
                                             static_cast<std::size_t>(part.size()));
  const SpanTimer span(config_.trace, SpanKind::kMultiply, gather_.rank(), thread,
                       tiles.front().out_row, first_column);
  gemm::multiply_tiles(call_->product, tiles, columns, workspace);
}

// The caller may change x once we return, so all peers must have read it.
void Executor::drain() {
  hook_(Point::kBeforeDrain, 0);
  const SpanTimer span(config_.trace, SpanKind::kWait, gather_.rank(), 0);
  gather_.history().multiplied();
  bool late = false;
  transport::Wait wait(gather_.dozer());
  for (;;) {
    gather_.progress(0);
    if (gather_.drained()) break;
    if (late) miss_deadline(gather_.first_not_drained());
    wait.pause();
    if (!wait.time_to_check()) continue;
    gather_.history().waiting_for(gather_.peer_not_drained());
    late = wait.expired(*deadline_);  // looks once more, as await_wave() does
  }
  // A peer that failed while we read its rows may have changed them.
  gather_.check_alive();
}

// The peers are told before this rank unwinds, which may take long the first time: one that comes
// to its deadline meanwhile would find this rank no longer waiting, and blame it.
void Executor::miss_deadline(const Gather::Missing& missing) const {
  const Error error(
      ErrorCode::kDeadline,
      cat("rank ", gather_.rank(), " waited ", deadline_->limit_ms(), " ms in call ",
          call_->header.call, " for ", missing.text, gather_.history().recent(gather_.rank())),
      missing.peer);
  config_.gather.endpoint->fail(error);
  throw error;
}

}  // namespace cmm::exec
