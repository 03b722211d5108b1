#include "tpu/kernels/wavefront/resources.hpp"

#include <string>
#include <utility>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "schedule/tile_needs.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu::wavefront {
namespace {

using schedule::kReservedSmemBytes;
using schedule::kSides;
using schedule::Side;
using schedule::TileBody;
using schedule::TileShape;
using schedule::XHome;

const char* side_name(Side side) { return side == Side::kForward ? "forward" : "backward"; }

class Declarations {
 public:
  Declarations(Builder& builder, const TileShape& shape, const WavefrontOptions& options)
      : build_(builder), shape_(shape), options_(options) {}

  Resources make(std::int64_t table_words) {
    Resources resources;
    resources.table = build_.buffer({.name = "table",
                                     .memory = Memory::kSmem,
                                     .element = Element::kS32,
                                     .shape = {table_words},
                                     .role = Role::kInput});
    operands(resources);
    slots(resources);
    if (shape_.num_devices > 1) ring_semaphores(resources);
    slot_semaphores(resources);
    return resources;
  }

 private:
  int hbm(std::string name, Role role, Element element, std::int64_t rows, std::int64_t cols) {
    return build_.buffer({.name = std::move(name),
                          .memory = Memory::kHbm,
                          .element = element,
                          .shape = {rows, cols},
                          .role = role});
  }
  int vmem(std::string name, Element element, std::vector<std::int64_t> shape) {
    return build_.buffer({.name = std::move(name),
                          .memory = Memory::kVmem,
                          .element = element,
                          .shape = std::move(shape),
                          .role = Role::kScratch});
  }
  int semaphores(std::string name, SemaphoreKind kind, std::vector<std::int64_t> shape) {
    return build_.semaphore({.name = std::move(name), .kind = kind, .shape = std::move(shape)});
  }

  void operands(Resources& resources) {
    const Element element = options_.element;
    const std::int64_t all_rows = shape_.num_devices * shape_.shard_rows;
    resources.x = hbm("x", Role::kInput, element, shape_.shard_rows, shape_.k);
    for (std::size_t i = 0; i < shape_.cols.size(); ++i) {
      const std::int64_t cols = shape_.cols[i];
      const auto name = cat("y ", i);
      resources.y.push_back(options_.rhs_transposed
                                ? hbm(name, Role::kInput, element, cols, shape_.k)
                                : hbm(name, Role::kInput, element, shape_.k, cols));
    }
    for (std::size_t i = 0; i < shape_.cols.size(); ++i) {
      resources.out.push_back(
          hbm(cat("out ", i), Role::kOutput, options_.out_element, all_rows, shape_.cols[i]));
    }
    const bool travels = shape_.x_home == XHome::kHbm && shape_.num_devices > 1;
    if (shape_.gathered || travels) {
      resources.gathered = hbm(shape_.gathered ? "gathered x" : "received x", Role::kOutput,
                               element, all_rows, shape_.k);
    }
  }

  void slots(Resources& resources) {
    const std::int64_t bk = shape_.block_k, bc = shape_.block_cols;
    resources.x_slots =
        vmem("x slots", options_.element, {2 * shape_.x_slots, shape_.side_rows, bk});
    resources.y_slots =
        vmem("y slots", options_.element,
             options_.rhs_transposed ? std::vector<std::int64_t>{shape_.y_slots, bc, bk}
                                     : std::vector<std::int64_t>{shape_.y_slots, bk, bc});
    for (std::size_t i = 0; i < shape_.bodies.size(); ++i) {
      const TileBody& body = shape_.bodies[i];
      resources.out_slots.push_back(
          vmem(cat("out slots of body ", i), options_.out_element,
               {2 * tiles_of(body) * body.out_slots, shape_.side_rows, tile_cols(body, bc)}));
      if (shape_.num_k_blocks() > 1) {
        resources.accumulators.push_back(
            vmem(cat("accumulator of body ", i), sum_element(options_.element),
                 {body.blocks, 2 * body.groups * shape_.side_rows, bc}));
      }
    }
  }

  void ring_semaphores(Resources& resources) {
    resources.barrier = semaphores("barrier", SemaphoreKind::kBarrier, {});
    resources.second_round = semaphores("second round", SemaphoreKind::kRegular, {});
    for (const Side side : kSides) {
      if (shape_.num_pieces(side) == 0) continue;
      const auto i = static_cast<std::size_t>(side);
      resources.departures[i] =
          semaphores(cat("departures ", side_name(side)), SemaphoreKind::kDma, {shape_.departures});
      resources.arrivals[i] = semaphores(cat("arrivals ", side_name(side)), SemaphoreKind::kDma,
                                         {shape_.num_arrivals(side)});
    }
    if (shape_.needs_credits()) {
      resources.credits = semaphores("credits", SemaphoreKind::kRegular, {2});
    }
  }

  void slot_semaphores(Resources& resources) {
    resources.x_loaded = semaphores("x loaded", SemaphoreKind::kDma, {shape_.x_slots});
    resources.y_loaded = semaphores("y loaded", SemaphoreKind::kDma, {shape_.y_slots});
    for (std::size_t i = 0; i < shape_.bodies.size(); ++i) {
      resources.stored.push_back(
          semaphores(cat("stored by body ", i), SemaphoreKind::kDma, {shape_.bodies[i].out_slots}));
    }
    if (shape_.gathered) {
      resources.x_stored = semaphores("x stored", SemaphoreKind::kDma, {shape_.x_slots});
    }
  }

  Builder& build_;
  const TileShape& shape_;
  const WavefrontOptions& options_;
};

[[noreturn]] void too_much(const std::string& what) { throw Error(ErrorCode::kUnsupported, what); }

}  // namespace

Resources declare(Builder& builder, const TileShape& shape, const WavefrontOptions& options,
                  std::int64_t table_words) {
  return Declarations(builder, shape, options).make(table_words);
}

void check_capacity(const Program& program, const Chip& chip) {
  std::string parts;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.memory == Memory::kSmem) {
      const std::int64_t bytes = padded_bytes(buffer, chip);
      if (bytes > chip.smem_bytes - kReservedSmemBytes) {
        too_much(cat("the table of the wavefront kernel has ", bytes / 4, " words, ", bytes,
                     " bytes; of the SMEM of ", chip.name, " a kernel has ",
                     chip.smem_bytes - kReservedSmemBytes,
                     ": larger blocks and groups make fewer steps"));
      }
    }
    if (buffer.memory == Memory::kVmem) {
      parts += cat(parts.empty() ? "" : " + ", buffer.name, " ", padded_bytes(buffer, chip));
    }
  }
  const std::int64_t vmem = vmem_bytes(program, chip);
  if (vmem > chip.vmem_bytes) {
    too_much(cat("the wavefront kernel needs ", vmem, " bytes of VMEM (", parts, "), but ",
                 chip.name, " has ", chip.vmem_bytes,
                 ": fewer slots, or smaller blocks and groups need less"));
  }
  const std::int64_t semaphores = num_semaphores(program);
  if (semaphores <= chip.num_semaphores) return;
  parts.clear();
  for (const SemaphoreArray& semaphore : program.semaphores) {
    if (semaphore.kind == SemaphoreKind::kBarrier) continue;
    parts += cat(parts.empty() ? "" : " + ", semaphore.name, " ", num_elements(semaphore.shape));
  }
  too_much(cat("the wavefront kernel needs ", semaphores, " semaphores (", parts, "), but ",
               chip.name, " has ", chip.num_semaphores,
               ": larger pieces and fewer slots need fewer"));
}

}  // namespace cmm::tpu::wavefront
