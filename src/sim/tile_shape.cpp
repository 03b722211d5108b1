// From the parameters of a plan to slots.
#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_plan.hpp"

namespace cmm::sim {
namespace {

using schedule::TileBody;
using schedule::TileShape;
using schedule::XHome;

// Compile time of libtpu grows with the elements of y that its matmul ops take up: about 5 s for 8M
// of them, 17 s for 32M; one op of 4M takes some seconds, of 8M more than half a minute.
constexpr std::int64_t kMaxOpElems = 4'300'000;
constexpr std::int64_t kMaxKernelElems = 32'000'000;

constexpr int kMaxDepartures = 8;
// Of y, where k is cut: each has a semaphore.
constexpr int kMaxStreamedSlots = 64;
// Of a row of a kernel's table: body, slots, block and what it loads. Only to refuse early what
// could not fit; a schedule's own words are counted when it is there.
constexpr std::int64_t kLeastWords = 16;
constexpr std::int64_t kWordBytes = 4;
// That the compiler keeps for itself beside those of the kernel.
constexpr int kSpareSemaphores = 6;

std::int64_t compiled_elems(const TileShape& shape) {
  std::int64_t elems = 0;
  for (const TileBody& body : shape.bodies) {
    const std::int64_t ops = body.blocks * shape.block_k * shape.block_cols;
    elems += ops + ops * (body.groups - 1) / 10;
  }
  return elems;
}

// Each x slot has its own for a load and the arrivals of its pieces. Half of them are left for
// blocks of y and the rest.
std::int64_t slots_of_semaphores(const TileProblem& problem, TileShape shape) {
  shape.x_slots = static_cast<int>(shape.num_devices * shape.num_groups());  // so no credits
  const std::int64_t all = num_semaphores(shape);
  ++shape.x_slots;
  return problem.machine.chip.num_semaphores * 3 / 4 / (num_semaphores(shape) - all);
}

ShapeOrNot no(std::string why) { return {std::nullopt, std::move(why)}; }

}  // namespace

ShapeOrNot shape_of(const TileProblem& problem, const TileParameters& parameters) {
  const tpu::Chip& chip = problem.machine.chip;
  const tpu::Element element = problem.machine.elements.operand;
  if (!tpu::multiplies(chip, element))
    return no(cat("the chip multiplies no ", tpu::element_name(element)));
  TileShape shape = problem.shape;
  shape.side_rows = parameters.side_rows;
  shape.piece_rows = parameters.piece_rows;
  shape.block_cols = parameters.block_cols;
  shape.block_k = parameters.block_k == 0 ? shape.k : parameters.block_k;
  shape.x_home = parameters.x_home;
  shape.y_parts = parameters.y_parts;
  shape.bodies = parameters.bodies;
  int most_groups = 1;
  for (const TileBody& body : shape.bodies) most_groups = std::max(most_groups, body.groups);
  shape.x_slots = most_groups;
  try {
    check_tile_shape(shape);
  } catch (const Error& error) {
    return no(error.what());
  }
  const std::int64_t num_groups = shape.num_devices * shape.num_groups();
  if (parameters.passes < 1 || parameters.passes > num_groups)
    return no(cat("passes is ", parameters.passes, "; it must be within 1..", num_groups));

  const int num_blocks = shape.num_blocks();
  const auto& elements = problem.machine.elements;
  const std::int64_t x_bytes = x_slot_bytes(shape, elements);
  const std::int64_t y_bytes = y_slot_bytes(shape, elements);
  const std::int64_t vmem = problem.machine.chip.vmem_bytes - parameters.margin_bytes;
  const std::int64_t left = vmem - out_bytes(shape, elements);

  // Where k is cut both operands stream: a step's k blocks come while another's are read.
  const std::int64_t num_k_blocks = shape.num_k_blocks();
  const bool streams = num_k_blocks > 1;
  if (streams && parameters.passes > 1) return no("it cuts k and so has no passes");
  const std::int64_t all_x =
      streams ? round_up(num_groups, most_groups) * num_k_blocks : num_groups;
  const std::int64_t x_most = parameters.x_bytes > 0 ? parameters.x_bytes / x_bytes : all_x;
  std::int64_t x_slots = std::min({x_most, all_x, slots_of_semaphores(problem, shape)});
  if (x_slots < all_x) x_slots -= x_slots % most_groups;
  const bool forwards_from_slots = shape.x_home == XHome::kVmem && shape.num_devices > 2;
  // What is forwarded takes up slots that are freed together with those of `most_groups` groups: it
  // must not have to wait for its own.
  const std::int64_t x_least =
      streams ? 2 * most_groups
              : std::min(num_groups,
                         forwards_from_slots ? shape.num_groups() + most_groups : most_groups);
  const std::int64_t y_least = streams ? 2 : 1;
  const std::int64_t num_loads = num_blocks * (streams ? num_k_blocks : parameters.passes);
  std::int64_t y_slots = std::min(num_loads, (left - x_slots * x_bytes) / y_bytes);
  if (streams) y_slots = std::min<std::int64_t>(y_slots, kMaxStreamedSlots);
  if (x_slots < x_least || y_slots < y_least)
    return no(cat("it needs ", x_least, " x slots of ", x_bytes, " bytes, ", y_least,
                  " y slots of ", y_bytes, " and ", out_bytes(shape, elements),
                  " of output slots in VMEM, which has ", problem.machine.chip.vmem_bytes,
                  " less a margin of ", parameters.margin_bytes));
  if (!streams && y_slots < num_blocks && x_slots < num_groups && parameters.passes == 1)
    return no("neither all of x nor all of y fits into VMEM, and there is but one pass over y");
  shape.x_slots = static_cast<int>(x_slots);
  shape.y_slots = static_cast<int>(y_slots);

  const std::int64_t sends = (shape.num_devices - 1) * shape.num_pieces(schedule::Side::kForward);
  shape.departures = static_cast<int>(std::clamp<std::int64_t>(sends, 1, kMaxDepartures));
  if (num_semaphores(shape) + kSpareSemaphores > problem.machine.chip.num_semaphores)
    return no(cat("it takes ", num_semaphores(shape), " semaphores, and the chip has ",
                  problem.machine.chip.num_semaphores));
  if (streams) {
    const std::int64_t sums = ceil_div(num_groups, most_groups) * num_blocks;
    const std::int64_t most_steps = chip.smem_bytes / ((kLeastWords + most_groups) * kWordBytes);
    if (sums > most_steps / num_k_blocks)
      return no(cat("it takes ", sums, " times ", num_k_blocks,
                    " steps, and SMEM holds a table of ", most_steps, " at most"));
  }
  if (shape.block_k * shape.block_cols > kMaxOpElems || compiled_elems(shape) > kMaxKernelElems)
    return no(cat("it takes too long to compile: ", shape.block_k * shape.block_cols,
                  " elements of y in one op and ", compiled_elems(shape), " in all; at most ",
                  kMaxOpElems, " and ", kMaxKernelElems));
  return {shape, {}};
}

}  // namespace cmm::sim
