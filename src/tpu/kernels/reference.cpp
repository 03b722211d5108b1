#include "tpu/kernels/reference.hpp"

#include <utility>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "schedule/tiles.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

using schedule::kSides;
using schedule::Side;

// One point of the grid [P + 2, grid_n, grid_k]: its first dimension is the outer step, `step` the
// number of all points before it. What is multiplied here was loaded one point earlier, and what is
// stored here was multiplied grid_k or more points earlier.
class ReferenceBody {
 public:
  ReferenceBody(const ReferenceOptions& options, Builder& builder)
      : options_(options),
        build_(builder),
        num_devices_(options.ring.size()),
        rows_(options.m / num_devices_),
        half_(rows_ / 2),
        cols_(options.n / num_devices_),
        grid_n_(cols_ / options.bn),
        grid_k_(options.k / options.bk),
        points_(grid_n_ * grid_k_),
        products_(num_devices_ * points_) {
    declare();
    position_ = ring_position(build_, options.ring);
    outer_ = build_.grid_index(0);
    block_n_ = build_.grid_index(1);
    block_k_ = build_.grid_index(2);
    step_ = build_.add(build_.add(times(outer_, points_), times(block_n_, grid_k_)), block_k_);
    point_ = build_.rem(step_, constant(points_));
    // The slots change with each shard of x and each tile of out.
    x_load_slot_ = build_.rem(outer_, constant(2));
    x_slot_ = build_.rem(build_.div(minus(step_, 1), constant(points_)), constant(2));
    out_slot_ = build_.rem(build_.div(plus(step_, grid_k_ - 1), constant(grid_k_)), constant(2));
  }

  void write() {
    const Scalar first_step = build_.equal(outer_, constant(0));
    const Scalar first_block = build_.equal(block_n_, constant(0));
    const Scalar forwards = build_.both(at_least(outer_, 1), below(outer_, num_devices_ - 1));
    const Scalar takes_x =
        build_.both(build_.both(at_least(outer_, 1), below(outer_, num_devices_)), first_block);
    const Scalar last_point = build_.equal(point_, constant(points_ - 1));

    phase("start_first_remote_copy", build_.equal(step_, constant(0)), [&] {
      if (grid_k_ > 1) clear_accumulator();
      announce_entry(build_, position_, barrier_);
      await_entry(build_, position_, barrier_, second_round_);
      for (const Side side : kSides) start_send(side, own_half(side));
    });
    phase("start_subsequent_remote_copy", build_.both(forwards, build_.equal(point_, constant(0))),
          [&] {
            for (const Side side : kSides) start_send(side, received_half(side));
          });
    phase("start_first_local_x_copy", build_.both(first_step, first_block),
          [&] { start(own_load()); });
    phase("start_subsequent_local_x_copy", takes_x, [&] {
      for (const Side side : kSides) start(load(side));
    });
    phase("start_local_y_copy", first_step, [&] { start(y_load()); });
    phase("start_local_out_copy", stores(1), [&] {
      for (const Side side : kSides) start(store(side));
    });
    phase("multiply", build_.both(at_least(step_, 1), below(step_, 1 + products_)),
          [&] { multiply(); });
    phase("wait_local_out_copy", stores(0), [&] {
      for (const Side side : kSides) await(store(side));
    });
    phase("wait_local_y_copy", first_step, [&] { await(y_load()); });
    phase("wait_first_local_x_copy", build_.both(first_step, first_block),
          [&] { await(own_load()); });
    phase("wait_subsequent_local_x_copy", takes_x, [&] {
      for (const Side side : kSides) await(load(side));
    });
    phase("wait_first_remote_copy", build_.both(first_step, last_point), [&] {
      for (const Side side : kSides) await_hop(side);
    });
    phase("wait_subsequent_remote_copy", build_.both(forwards, last_point), [&] {
      for (const Side side : kSides) await_hop(side);
    });
  }

  std::vector<std::int64_t> grid() const { return {num_devices_ + 2, grid_n_, grid_k_}; }

  Cost cost() const {
    const std::int64_t bytes = element_bytes(options_.element);
    const std::int64_t x = rows_ * options_.k * bytes, hops = num_devices_ - 1;
    return {.flops = 2 * options_.m * options_.k * cols_,
            // A shard that is passed on is read here and written by a neighbour, one that is
            // received is read once more for the product.
            .hbm_bytes = x * (1 + 3 * hops) + (options_.k + options_.m) * cols_ * bytes,
            .remote_bytes = x * hops};
  }

 private:
  void declare() {
    const std::int64_t k = options_.k, hops = num_devices_ - 1;
    const Element element = options_.element;
    const std::vector<std::int64_t> y_shape =
        options_.rhs_transposed ? std::vector{cols_, k} : std::vector{k, cols_};
    const auto buffer = [&](const char* name, Memory memory, std::vector<std::int64_t> shape,
                            Role role) {
      return build_.buffer({.name = name,
                            .memory = memory,
                            .element = element,
                            .shape = std::move(shape),
                            .role = role});
    };
    x_ = buffer("x", Memory::kHbm, {rows_, k}, Role::kInput);
    y_ = buffer("y", Memory::kHbm, y_shape, Role::kInput);
    out_ = buffer("out", Memory::kHbm, {options_.m, cols_}, Role::kOutput);
    // An output, so that it exists on every device from the moment the kernel is entered.
    received_ = buffer("received x", Memory::kHbm, {hops, rows_, k}, Role::kOutput);
    x_slots_ = buffer("x slots", Memory::kVmem, {2, rows_, k}, Role::kScratch);
    y_on_chip_ = buffer("y on chip", Memory::kVmem, y_shape, Role::kScratch);
    out_slots_ = buffer("out slots", Memory::kVmem, {2, rows_, options_.bn}, Role::kScratch);
    if (grid_k_ > 1) {
      accumulator_ = build_.buffer({.name = "accumulator",
                                    .memory = Memory::kVmem,
                                    .element = sum_element(element),
                                    .shape = {rows_, options_.bn},
                                    .role = Role::kScratch});
    }
    const auto semaphore = [&](const char* name, SemaphoreKind kind,
                               std::vector<std::int64_t> shape) {
      return build_.semaphore({.name = name, .kind = kind, .shape = std::move(shape)});
    };
    barrier_ = semaphore("barrier", SemaphoreKind::kBarrier, {});
    second_round_ = semaphore("second round", SemaphoreKind::kRegular, {});
    x_loaded_ = semaphore("x loaded", SemaphoreKind::kDma, {});
    y_loaded_ = semaphore("y loaded", SemaphoreKind::kDma, {});
    stored_ = semaphore("stored", SemaphoreKind::kDma, {});
    departures_ = semaphore("departures", SemaphoreKind::kDma, {2, hops});
    arrivals_ = semaphore("arrivals", SemaphoreKind::kDma, {2, hops});
  }

  Scalar constant(std::int64_t value) { return build_.constant(value); }
  Scalar plus(Scalar a, std::int64_t b) { return build_.add(a, constant(b)); }
  Scalar minus(Scalar a, std::int64_t b) { return build_.sub(a, constant(b)); }
  Scalar times(Scalar a, std::int64_t b) { return build_.mul(a, constant(b)); }
  Scalar below(Scalar a, std::int64_t b) { return build_.less(a, constant(b)); }
  Scalar at_least(Scalar a, std::int64_t b) { return build_.at_least(a, constant(b)); }

  void phase(const char* name, Scalar condition, const std::function<void()>& body) {
    build_.when(condition, [&] {
      build_.scope(name, [&] {
        if (options_.debug) {
          build_.debug_print(cat("step {} of the ring, block {} of n, {} of k: ", name),
                             {outer_, block_n_, block_k_});
        }
        build_.note(name, body);
      });
    });
  }

  // The first half of a shard travels backward, the second forward.
  Scalar half_row(Side side) const { return build_.constant(side == Side::kForward ? half_ : 0); }
  Slice own_half(Side side) {
    return {.buffer = x_, .offsets = {half_row(side), constant(0)}, .sizes = {half_, options_.k}};
  }
  Slice half_at_hop(Side side, Scalar hop) {  // [m / P / 2, k]; slot hop - 1 has what came by it
    return {.buffer = received_,
            .offsets = {hop, half_row(side), constant(0)},
            .sizes = {1, half_, options_.k},
            .num_squeezed = 1};
  }
  Slice received_half(Side side) { return half_at_hop(side, minus(outer_, 1)); }
  SemaphoreRef semaphore_of(int array, Side side) {
    return {.array = array, .index = {constant(static_cast<int>(side)), outer_}};
  }

  void start_send(Side side, Slice source) {
    build_.start_copy(
        {.source = std::move(source),
         .target = half_at_hop(side, outer_),
         .arrival = semaphore_of(arrivals_, side),
         .remote = StartCopy::Remote{
             .device = side == Side::kForward ? position_.forward : position_.backward,
             .departure = semaphore_of(departures_, side)}});
  }
  void await_hop(Side side) {
    const Slice half = half_at_hop(side, outer_);
    build_.await_copy({.side = AwaitCopy::Side::kDeparture,
                       .semaphore = semaphore_of(departures_, side),
                       .source = half,
                       .target = half});
    build_.await_copy({.side = AwaitCopy::Side::kArrival,
                       .semaphore = semaphore_of(arrivals_, side),
                       .source = half,
                       .target = half,
                       .device = side == Side::kForward ? position_.backward : position_.forward});
  }

  // A local copy and the wait for it, of the same slices.
  struct LocalCopy {
    Slice source, target;
    int semaphore = -1;
  };
  void start(const LocalCopy& copy) {
    build_.start_copy(
        {.source = copy.source, .target = copy.target, .arrival = {.array = copy.semaphore}});
  }
  void await(const LocalCopy& copy) {
    build_.await_copy({.side = AwaitCopy::Side::kLocal,
                       .semaphore = {.array = copy.semaphore},
                       .source = copy.source,
                       .target = copy.target});
  }

  Scalar column_of_x() { return times(block_k_, options_.bk); }
  LocalCopy own_load() {  // all rows of the own shard, one k block
    return {.source = {.buffer = x_,
                       .offsets = {constant(0), column_of_x()},
                       .sizes = {rows_, options_.bk}},
            .target = {.buffer = x_slots_,
                       .offsets = {x_load_slot_, constant(0), column_of_x()},
                       .sizes = {1, rows_, options_.bk},
                       .num_squeezed = 1},
            .semaphore = x_loaded_};
  }
  LocalCopy load(Side side) {
    return {.source = {.buffer = received_,
                       .offsets = {minus(outer_, 1), half_row(side), column_of_x()},
                       .sizes = {1, half_, options_.bk},
                       .num_squeezed = 1},
            .target = {.buffer = x_slots_,
                       .offsets = {x_load_slot_, half_row(side), column_of_x()},
                       .sizes = {1, half_, options_.bk},
                       .num_squeezed = 1},
            .semaphore = x_loaded_};
  }
  Slice y_block(int buffer, Scalar block_n, Scalar block_k) {
    const Scalar row = times(block_k, options_.bk), column = times(block_n, options_.bn);
    if (options_.rhs_transposed) {
      return {.buffer = buffer, .offsets = {column, row}, .sizes = {options_.bn, options_.bk}};
    }
    return {.buffer = buffer, .offsets = {row, column}, .sizes = {options_.bk, options_.bn}};
  }
  LocalCopy y_load() {
    return {.source = y_block(y_, block_n_, block_k_),
            .target = y_block(y_on_chip_, block_n_, block_k_),
            .semaphore = y_loaded_};
  }
  // Of the tile that was finished last: the first half of its rows is of the shard as many places
  // ahead as hops have been made, the second half of the shard as many places behind.
  LocalCopy store(Side side) {
    const Scalar hop = build_.div(minus(step_, 2), constant(points_));
    const Scalar from = side == Side::kForward ? build_.sub(position_.index, hop)
                                               : build_.add(position_.index, hop);
    const Scalar shard = build_.rem(plus(from, num_devices_), constant(num_devices_));
    const Scalar half = plus(times(shard, 2), side == Side::kForward ? 1 : 0);
    const Scalar finished = build_.rem(minus(step_, grid_k_ + 1), constant(points_));
    const Scalar block_n = build_.div(finished, constant(grid_k_));
    return {.source = {.buffer = out_slots_,
                       .offsets = {build_.sub(constant(1), out_slot_), half_row(side), constant(0)},
                       .sizes = {1, half_, options_.bn},
                       .num_squeezed = 1},
            .target = {.buffer = out_,
                       .offsets = {times(half, half_), times(block_n, options_.bn)},
                       .sizes = {half_, options_.bn}},
            .semaphore = stored_};
  }
  // Whether a tile's store starts here, at point 1 of a tile's grid_k, or is awaited, at point 0:
  // with one k block both, with the product between them.
  Scalar stores(std::int64_t point) {
    const Scalar any =
        build_.both(at_least(step_, grid_k_ + 1), below(step_, products_ + grid_k_ + 1));
    if (grid_k_ == 1) return any;
    return build_.both(any, build_.equal(build_.rem(step_, constant(grid_k_)), constant(point)));
  }

  Slice accumulator() {
    return {.buffer = accumulator_,
            .offsets = {constant(0), constant(0)},
            .sizes = {rows_, options_.bn}};
  }
  void clear_accumulator() {
    build_.store(
        build_.zero({.element = sum_element(options_.element), .shape = {rows_, options_.bn}}),
        accumulator());
  }
  void store_tile(Vector sums) {
    build_.store(build_.cast(sums, options_.element),
                 {.buffer = out_slots_,
                  .offsets = {out_slot_, constant(0), constant(0)},
                  .sizes = {1, rows_, options_.bn},
                  .num_squeezed = 1});
  }
  void multiply() {
    const Scalar product = minus(step_, 1);
    const Scalar block_k = build_.rem(product, constant(grid_k_));
    const Scalar block_n = build_.div(build_.rem(product, constant(points_)), constant(grid_k_));
    const Vector lhs = build_.load({.buffer = x_slots_,
                                    .offsets = {x_slot_, constant(0), times(block_k, options_.bk)},
                                    .sizes = {1, rows_, options_.bk},
                                    .num_squeezed = 1});
    const Vector rhs = build_.load(y_block(y_on_chip_, block_n, block_k));
    if (grid_k_ == 1) {
      store_tile(build_.matmul(lhs, rhs, options_.rhs_transposed));
      return;
    }
    const Vector sums = build_.load(accumulator());
    build_.store(build_.add(sums, build_.matmul(lhs, rhs, options_.rhs_transposed)), accumulator());
    build_.when(build_.equal(block_k, constant(grid_k_ - 1)), [&] {
      store_tile(build_.load(accumulator()));
      clear_accumulator();
    });
  }

  const ReferenceOptions& options_;
  Builder& build_;
  std::int64_t num_devices_, rows_, half_, cols_, grid_n_, grid_k_;
  std::int64_t points_;    // of the grid, of one outer step
  std::int64_t products_;  // of all outer steps

  int x_ = -1, y_ = -1, out_ = -1, received_ = -1;
  int x_slots_ = -1, y_on_chip_ = -1, out_slots_ = -1, accumulator_ = -1;
  int barrier_ = -1, second_round_ = -1, x_loaded_ = -1, y_loaded_ = -1, stored_ = -1;
  int departures_ = -1, arrivals_ = -1;

  RingPosition position_;
  Scalar outer_, block_n_, block_k_, step_, point_, x_load_slot_, x_slot_, out_slot_;
};

}  // namespace

std::string reference_name(const ReferenceOptions& options) {
  return cat("all_gather_matmul_kernel_bn_", options.bn, "_bk_", options.bk, "_rhs_transpose_",
             options.rhs_transposed ? "True" : "False");
}

Kernel reference_kernel(const ReferenceOptions& options, const Chip& chip) {
  const std::string why_not = why_not_reference(options, chip);
  if (!why_not.empty()) throw Error(ErrorCode::kInvalidArgument, why_not);

  Builder builder(reference_name(options));
  ReferenceBody body(options, builder);
  body.write();
  builder.program().grid = body.grid();
  builder.program().num_devices = options.ring.num_devices();
  builder.program().collective_id = options.collective_id;
  builder.program().cost = body.cost();

  const std::int64_t num_devices = options.ring.size();
  const Extents extents = {.m = options.m, .k = options.k, .cols = {options.n / num_devices}};
  return {.program = builder.finish(),
          .ring = options.ring,
          .asked = extents,
          .rows_asked = options.m / num_devices,
          .shard_rows = options.m / num_devices,
          .padded = extents,
          .element = options.element,
          .out_element = options.element,
          .rhs_transposed = options.rhs_transposed,
          .table = {},
          .table_layout = {},
          .gathered = false};
}

}  // namespace cmm::tpu
