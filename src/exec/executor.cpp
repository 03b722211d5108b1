#include "exec/executor.hpp"

#include <algorithm>
#include <cstring>

#include "base/backoff.hpp"
#include "base/float_environment.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "exec/span_timer.hpp"

namespace cmm::exec {
namespace {

// Fewer rows than this read the weights from memory faster than they can be multiplied, so a wave
// that small is worth a short wait for more (full speed begins at 64 rows).
constexpr std::int64_t kWaveRows = 64;
constexpr std::int64_t kWaitForRestNs = 20'000;
constexpr std::int64_t kWaitForRowsNs = 200'000;

// A claim of a call that copies chunks is short, because chunks move between claims.
constexpr double kPolledClaimFlops = 2e7;  // 100-200 us on the cores measured

constexpr std::int64_t kPackTiles = 8;            // tiles of a chunk packed as one unit
constexpr std::int64_t kDecodePackElems = 16384;  // elements of x packed as one unit

// Panels of the smallest claim: the columns of a register tile, or two streams of memory.
constexpr std::int64_t kUnitPanels = 2;

}  // namespace

Executor::Executor(const Config& config)
    : config_(config),
      gather_(config.gather),
      team_(config.num_threads),
      packed_(gemm::packed_bytes(*config.kernels, config.dtype, config.max_m, config.k)),
      workspaces_(static_cast<std::size_t>(config.num_threads)),
      library_(config.num_threads),
      num_steps_(gemm::num_steps(*config.kernels, config.dtype, config.k)),
      barrier_(config.num_threads),
      rounds_(static_cast<std::size_t>(config.num_threads)),
      units_left_(static_cast<std::size_t>(gather_.num_chunks())) {
  const auto num_chunks = static_cast<std::size_t>(gather_.num_chunks());
  wave_.reserve(num_chunks);
  const auto max_tiles = static_cast<std::size_t>(config.max_m / gemm::kTileRows + 1) + num_chunks;
  tiles_.reserve(max_tiles);
  const std::int64_t decode_units =
      gemm::max_decode_rows(*config.kernels, config.dtype) * config.k / kDecodePackElems + 1;
  pack_units_.reserve(max_tiles + num_chunks * 2 + static_cast<std::size_t>(decode_units));
  std::int64_t max_groups = 0;
  for (const std::int64_t n : config.n_local) {
    max_groups += ceil_div(n, gemm::kPanelColumns * gemm::kMaxPanels / 2) + 1;
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
  const Deadline deadline(config_.deadline);
  const SpanTimer span(config_.trace, SpanKind::kCall, config_.gather.rank, 0);
  call_ = &call;
  partition_ = &partition;
  deadline_ = &deadline;
  gather_.begin(call.header, call.x, partition);
  if (!call.product.sides.empty() && call.product.sides[0].library != nullptr) {
    run_with_library();
    gather_.end();
    return;
  }
  team_.run([](void* self, int thread) { static_cast<Executor*>(self)->work(thread); }, this);
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  gather_.end();
}

void Executor::run_with_library() {
  const DefaultFloatEnvironment environment;
  hook_(Point::kEntered, 0);
  do {
    wave_.clear();
    await_wave();
    hook_(Point::kArrived, 0);
    for (const int chunk : wave_) stage(chunk);
    multiply_staged();
  } while (gather_.num_not_taken() > 0);
  drain();
}

// Copies a chunk to where its rows stand in the gathered x. The copy costs under 1 % of the product
// and saves reading the weights once per chunk.
void Executor::stage(int chunk) {
  const Range rows = partition_->chunk(chunk);
  const SpanTimer span(config_.trace, SpanKind::kPack, config_.gather.rank, 0, chunk,
                       gather_.owner(chunk));
  const transport::Rows& from = gather_.rows(chunk);
  const auto row_bytes = static_cast<std::int64_t>(from.row_bytes);
  for (std::int64_t row = 0; row_bytes > 0 && row < rows.size(); ++row) {
    std::memcpy(packed_.data() + (rows.begin + row) * row_bytes,
                from.data + row * from.stride_bytes, static_cast<std::size_t>(row_bytes));
  }
  copy_gathered(chunk, {0, rows.size()});
  hook_(Point::kPacked, 0);
  gather_.consumed(chunk);
}

// Chunks that are neighbours in the gathered x are multiplied as one.
void Executor::multiply_staged() {
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(config_.dtype));
  std::sort(wave_.begin(), wave_.end(), [this](int a, int b) {
    return partition_->chunk(a).begin < partition_->chunk(b).begin;
  });
  for (std::size_t i = 0; i < wave_.size();) {
    Range rows = partition_->chunk(wave_[i]);
    for (++i; i < wave_.size() && partition_->chunk(wave_[i]).begin == rows.end; ++i) {
      rows.end = partition_->chunk(wave_[i]).end;
    }
    hook_(Point::kClaimed, 0);
    const SpanTimer span(config_.trace, SpanKind::kMultiply, config_.gather.rank, 0, rows.begin, 0);
    library_.multiply(call_->product,
                      {packed_.data() + rows.begin * config_.k * elem_bytes, config_.dtype,
                       rows.size(), config_.k, config_.k},
                      rows.begin);
    gather_.progress(0);
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
    if (multiply_wave_) multiply(thread);
    if (last) break;
    if (!barrier_.meet(round, failed_)) return;
  }
  rounds_[static_cast<std::size_t>(thread)].value = round;
  if (thread == 0) drain();
}

// Fills wave_ with arrived chunks and lists the packing and multiplying they need.
void Executor::choose_wave() {
  wave_.clear();
  pack_units_.clear();
  tiles_.clear();
  await_wave();
  hook_(Point::kArrived, 0);
  for (const int chunk : wave_) add_chunk(chunk);
  last_wave_ = gather_.num_not_taken() == 0;
  const bool any_product = !call_->product.sides.empty();
  multiply_wave_ = any_product && (decode() ? last_wave_ : !tiles_.empty());
  pack_claims_.reset({.num_units = static_cast<std::int64_t>(pack_units_.size()),
                      .max_claim = 1,
                      .boundary = 1,
                      .num_threads = team_.num_threads()});
  if (multiply_wave_) plan_multiply();
}

void Executor::await_wave() {
  const SpanTimer span(config_.trace, SpanKind::kWait, config_.gather.rank, 0);
  std::int64_t num_rows = 0;
  std::int64_t begin_ns = 0;
  for (Backoff backoff;;) {
    gather_.progress(0);
    for (const int chunk : gather_.take_arrived()) {
      wave_.push_back(chunk);
      num_rows += partition_->chunk(chunk).size();
    }
    if (gather_.num_not_taken() == 0 || failed_.load(std::memory_order_acquire)) return;
    if (!wave_.empty()) {
      if (gather_.stalled()) return;
      if (begin_ns == 0) begin_ns = now_ns();
      const std::int64_t waited_ns = now_ns() - begin_ns;
      if (waited_ns > (num_rows < kWaveRows ? kWaitForRowsNs : kWaitForRestNs)) return;
    }
    backoff.pause();
    if (backoff.time_to_check() && deadline_->expired()) miss_deadline(gather_.first_not_arrived());
  }
}

void Executor::add_chunk(int chunk) {
  const Range rows = partition_->chunk(chunk);
  const std::size_t num_before = pack_units_.size();
  if (rows.size() > 0 && decode()) {
    const std::int64_t elems = rows.size() * config_.k;
    const std::int64_t num_parts = elems / kDecodePackElems + 1;
    for (std::int64_t part = 0; part < num_parts; ++part) {
      pack_units_.push_back({chunk, even_part(num_steps_, num_parts, part)});
    }
  } else if (rows.size() > 0) {
    const std::int64_t num_tiles = gemm::num_tiles(rows.size());
    for (std::int64_t tile = 0; tile < num_tiles; ++tile) {
      const Range part = gemm::tile_rows(rows.size(), tile);
      tiles_.push_back({packed_chunk(rows.begin), rows.size(), part.begin, rows.begin + part.begin,
                        static_cast<int>(part.size())});
    }
    for (std::int64_t tile = 0; tile < num_tiles; tile += kPackTiles) {
      pack_units_.push_back({chunk, {tile, std::min(tile + kPackTiles, num_tiles)}});
    }
  }
  const auto num_units = static_cast<int>(pack_units_.size() - num_before);
  units_left_[static_cast<std::size_t>(chunk)].store(num_units, std::memory_order_relaxed);
  if (num_units == 0) gather_.consumed(chunk);
}

// Rows of a chunk, packed, lie where its first row stands in the gathered x.
std::byte* Executor::packed_chunk(std::int64_t first_row) {
  return packed_.data() + first_row * num_steps_ * 4;
}

void Executor::pack(int thread) {
  for (;;) {
    const Range claim = pack_claims_.claim();
    if (claim.size() == 0) return;
    const PackUnit& unit = pack_units_[static_cast<std::size_t>(claim.begin)];
    const SpanTimer span(config_.trace, SpanKind::kPack, config_.gather.rank, thread, unit.chunk,
                         gather_.owner(unit.chunk));
    pack_unit(unit);
    hook_(Point::kPacked, thread);
    std::atomic<int>& left = units_left_[static_cast<std::size_t>(unit.chunk)];
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) gather_.consumed(unit.chunk);
  }
}

void Executor::pack_unit(const PackUnit& unit) {
  const Range rows = partition_->chunk(unit.chunk);
  const transport::Rows& from = gather_.rows(unit.chunk);
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(config_.dtype));
  const ConstMatrixRef x(from.data, config_.dtype, rows.size(), config_.k,
                         from.stride_bytes / elem_bytes);
  const bool any_product = !call_->product.sides.empty();
  if (decode()) {
    if (any_product) {
      gemm::pack_decode({.kernels = config_.kernels,
                         .x = x,
                         .first_row = rows.begin,
                         .m = call_->m,
                         .steps = unit.part,
                         .packed = packed_.data()});
    }
    // The rows are few: the unit of the first steps copies them whole.
    if (unit.part.begin == 0) copy_gathered(unit.chunk, {0, rows.size()});
    return;
  }
  if (any_product) {
    gemm::pack_tiles(*config_.kernels, x, unit.part, packed_chunk(rows.begin));
  }
  copy_gathered(unit.chunk, {gemm::tile_rows(rows.size(), unit.part.begin).begin,
                             gemm::tile_rows(rows.size(), unit.part.end - 1).end});
}

void Executor::copy_gathered(int chunk, Range rows) const {
  const MatrixRef& gathered = call_->gathered;
  if (gathered.data == nullptr) return;
  const transport::Rows& from = gather_.rows(chunk);
  const std::int64_t first_row = partition_->chunk(chunk).begin;
  const std::int64_t stride_bytes =
      gathered.row_stride * static_cast<std::int64_t>(dtype_bytes(gathered.dtype));
  auto* to = static_cast<std::byte*>(gathered.data) + first_row * stride_bytes;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::memcpy(to + row * stride_bytes, from.data + row * from.stride_bytes,
                static_cast<std::size_t>(from.row_bytes));
  }
}

void Executor::list_groups(std::int64_t group_panels) {
  groups_.clear();
  const gemm::Product& product = call_->product;
  const std::size_t num_sides = product.swiglu ? 1 : product.sides.size();
  for (std::size_t side = 0; side < num_sides; ++side) {
    const std::int64_t num_panels = product.sides[side].y->num_panels();
    for (std::int64_t panel = 0; panel < num_panels; panel += group_panels) {
      groups_.push_back(
          {static_cast<int>(side), panel, std::min(group_panels, num_panels - panel)});
    }
  }
}

// Units are (column group, row block, two panels of the group), the last fastest: consecutive
// claims share a block of x in L2, and a group's columns, once read from memory, serve all rows.
void Executor::plan_multiply() {
  const std::int64_t group_panels = decode()                ? gemm::kMaxDecodePanels
                                    : call_->product.swiglu ? gemm::kMaxPanels / 2
                                                            : gemm::kMaxPanels;
  list_groups(group_panels);
  units_per_block_ = group_panels / kUnitPanels;
  num_row_blocks_ =
      decode() ? 1 : ceil_div(static_cast<std::int64_t>(tiles_.size()), gemm::kMaxTiles);
  std::int64_t max_claim = units_per_block_;
  if (!config_.gather.in_place && !last_wave_) {
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

void Executor::multiply(int thread) {
  for (;;) {
    const Range claim = multiply_claims_.claim();
    if (claim.size() == 0) return;
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
  const std::int64_t begin = std::min(units.begin * kUnitPanels, group.num_panels);
  const std::int64_t end = std::min(units.end * kUnitPanels, group.num_panels);
  if (begin == end) return;
  const gemm::ColumnRange columns = {group.side, group.first_panel + begin,
                                     group.first_panel + end};
  gemm::Workspace& workspace = workspaces_[static_cast<std::size_t>(thread)];
  const std::int64_t first_column = columns.first_panel * gemm::kPanelColumns;
  if (decode()) {
    const SpanTimer span(config_.trace, SpanKind::kMultiply, config_.gather.rank, thread, 0,
                         first_column);
    gemm::multiply_decode(call_->product, packed_.data(), call_->m, columns, workspace);
    return;
  }
  const Range part =
      even_part(static_cast<std::int64_t>(tiles_.size()), num_row_blocks_, row_block);
  const std::span<const gemm::RowTile> tiles(tiles_.data() + part.begin,
                                             static_cast<std::size_t>(part.size()));
  const SpanTimer span(config_.trace, SpanKind::kMultiply, config_.gather.rank, thread,
                       tiles.front().out_row, first_column);
  gemm::multiply_tiles(call_->product, tiles, columns, workspace);
}

// The caller may change x once we return, so all peers must have read it.
void Executor::drain() {
  hook_(Point::kBeforeDrain, 0);
  const SpanTimer span(config_.trace, SpanKind::kWait, config_.gather.rank, 0);
  for (Backoff backoff; !gather_.drained(); backoff.pause()) {
    if (backoff.time_to_check() && deadline_->expired()) miss_deadline(gather_.first_not_drained());
  }
}

void Executor::miss_deadline(const Gather::Missing& missing) const {
  throw Error(ErrorCode::kDeadline,
              cat("rank ", config_.gather.rank, " waited ", deadline_->limit_ms(), " ms in call ",
                  call_->header.call, " for ", missing.text,
                  "; the peer is silent, which does not prove that it is dead"),
              missing.peer);
}

}  // namespace cmm::exec
