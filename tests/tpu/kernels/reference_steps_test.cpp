// The reference kernel does what schedule::reference_steps says, which the simulator walks.
#include "schedule/reference_steps.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/scalars.hpp"
#include "tpu/shapes.hpp"
#include "tpu/support/chips.hpp"

namespace cmm::tpu {
namespace {

using Lines = std::vector<std::string>;

// Walks the statements of one device at one point of the grid and tells what they do.
class Teller {
 public:
  Teller(const Program& program, int device, std::vector<std::int64_t> point)
      : program_(program), device_(device), point_(std::move(point)) {}

  Lines tell() {
    block(program_.body);
    return std::move(lines_);
  }

 private:
  std::int64_t value(Scalar scalar) const {
    const ScalarNode& node = program_.scalars[static_cast<std::size_t>(scalar.id)];
    if (node.op == ScalarOp::kConstant) return node.immediate;
    if (node.op == ScalarOp::kDeviceId) return device_;
    if (node.op == ScalarOp::kGridIndex) return point_[static_cast<std::size_t>(node.immediate)];
    return *apply(node.op, value(node.a), value(node.b));
  }
  std::string text(const Slice& slice) const {
    std::string offsets;
    for (const Scalar offset : slice.offsets) {
      offsets += cat(offsets.empty() ? "" : ",", value(offset));
    }
    return cat(program_.buffers[static_cast<std::size_t>(slice.buffer)].name, "[", offsets, "]");
  }
  std::string text(const SemaphoreRef& semaphore) const {
    std::string index;
    for (const Scalar i : semaphore.index) index += cat(",", value(i));
    return program_.semaphores[static_cast<std::size_t>(semaphore.array)].name + index;
  }

  void block(const Block& statements) {
    for (const Statement& statement : statements) {
      if (const auto* copy = std::get_if<StartCopy>(&statement.what)) {
        std::string line = cat(text(copy->source), " -> ", text(copy->target));
        if (copy->remote) line += cat(" of ", value(copy->remote->device));
        lines_.push_back(line);
      } else if (const auto* await = std::get_if<AwaitCopy>(&statement.what)) {
        lines_.push_back(
            cat("await ", text(await->semaphore), ": ", slice_bytes(program_, await->target)));
      } else if (const auto* signal = std::get_if<Signal>(&statement.what)) {
        lines_.push_back(cat("signal ", text(signal->semaphore), " of ", value(signal->device)));
      } else if (const auto* load = std::get_if<LoadVector>(&statement.what)) {
        if (text(load->from).starts_with("accumulator")) continue;
        lines_.push_back("multiply " + text(load->from));
      } else if (const auto* store = std::get_if<StoreVector>(&statement.what)) {
        if (text(store->to).starts_with("accumulator")) continue;
        lines_.push_back("put " + text(store->to));
      } else if (const auto* branch = std::get_if<If>(&statement.what)) {
        if (value(branch->condition) != 0) block(branch->then);
      } else if (const auto* scope = std::get_if<Scope>(&statement.what)) {
        block(scope->body);
      }
    }
  }

  const Program& program_;
  const int device_;
  const std::vector<std::int64_t> point_;
  Lines lines_;
};

// The same lines from the action's definition.
class Expected {
 public:
  Expected(const ReferenceOptions& options, int device)
      : o_(options), P_(options.ring.size()), device_(device), rows_(o_.m / P_) {}

  void add(const schedule::ReferenceAction& action, Lines& lines) const {
    using Kind = schedule::ReferenceAction::Kind;
    const std::int64_t half = rows_ / 2, k_at = action.k_block * o_.bk, n_at = action.block * o_.bn;
    const int ahead = (device_ + 1) % P_, behind = (device_ + P_ - 1) % P_;
    const std::int64_t x_bytes = rows_ * 2 * o_.bk, send_bytes = half * o_.k * 2;
    switch (action.kind) {
      case Kind::kEnter:
        for (const char* name : {"barrier", "second round"}) {
          for (const int other : {ahead, behind}) {
            lines.push_back(cat("signal ", name, " of ", other));
          }
        }
        break;
      case Kind::kSend:
        for (const bool forward : {true, false}) {
          const std::int64_t row = forward ? half : 0;
          const std::string source = action.hop == 0
                                         ? cat("x[", row, ",0]")
                                         : cat("received x[", action.hop - 1, ",", row, ",0]");
          lines.push_back(cat(source, " -> received x[", action.hop, ",", row, ",0] of ",
                              forward ? ahead : behind));
        }
        break;
      case Kind::kAwaitHop:
        for (const int side : {0, 1}) {
          lines.push_back(cat("await departures,", side, ",", action.hop, ": ", send_bytes));
          lines.push_back(cat("await arrivals,", side, ",", action.hop, ": ", send_bytes));
        }
        break;
      case Kind::kLoadX:
        if (action.hop == 0) {
          lines.push_back(cat("x[0,", k_at, "] -> x slots[", action.slot, ",0,", k_at, "]"));
          break;
        }
        for (const std::int64_t row : {half, std::int64_t{0}}) {
          lines.push_back(cat("received x[", action.hop - 1, ",", row, ",", k_at, "] -> x slots[",
                              action.slot, ",", row, ",", k_at, "]"));
        }
        break;
      case Kind::kAwaitX:
        if (action.hop == 0) lines.push_back(cat("await x loaded: ", x_bytes));
        if (action.hop > 0) lines.insert(lines.end(), 2, cat("await x loaded: ", x_bytes / 2));
        break;
      case Kind::kLoadY:
        lines.push_back(cat("y[", k_at, ",", n_at, "] -> y on chip[", k_at, ",", n_at, "]"));
        break;
      case Kind::kAwaitY:
        lines.push_back(cat("await y loaded: ", o_.bk * o_.bn * 2));
        break;
      case Kind::kMultiply:
        lines.push_back(cat("multiply x slots[", action.slot, ",0,", k_at, "]"));
        lines.push_back(cat("multiply y on chip[", k_at, ",", n_at, "]"));
        if (k_at + o_.bk == o_.k) lines.push_back(cat("put out slots[", action.out_slot, ",0,0]"));
        break;
      case Kind::kStore:
        lines.push_back(cat("out slots[", action.slot, ",", half, ",0] -> out[",
                            (device_ + P_ - action.hop) % P_ * rows_ + half, ",", n_at, "]"));
        lines.push_back(cat("out slots[", action.slot, ",0,0] -> out[",
                            (device_ + action.hop) % P_ * rows_, ",", n_at, "]"));
        break;
      case Kind::kAwaitStore:
        lines.insert(lines.end(), 2, cat("await stored: ", half * o_.bn * 2));
        break;
    }
  }

 private:
  const ReferenceOptions& o_;
  const int P_, device_;
  const std::int64_t rows_;
};

void expect_same_steps(const ReferenceOptions& options) {
  const std::int64_t grid_n = options.n / options.ring.size() / options.bn;
  const std::int64_t grid_k = options.k / options.bk;
  const Kernel kernel = reference_kernel(options, test::chip_of_generation(6));
  const auto steps = schedule::reference_steps({options.ring.size(), grid_n, grid_k});
  for (int device = 0; device < options.ring.size(); ++device) {
    const Expected expected(options, device);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      Lines lines;
      for (const auto& action : steps[i]) expected.add(action, lines);
      const std::vector<std::int64_t> point = {number / (grid_n * grid_k), number / grid_k % grid_n,
                                               number % grid_k};
      EXPECT_EQ(Teller(kernel.program, device, point).tell(), lines)
          << "device " << device << " step " << i;
    }
  }
}

TEST(ReferenceKernel, DoesTheReferenceSteps) {
  for (int num_devices = 2; num_devices <= 5; ++num_devices) {
    for (const std::int64_t grid_n : {1, 2, 3}) {
      for (const std::int64_t grid_k : {1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << num_devices << " devices, " << grid_n << "x" << grid_k);
        expect_same_steps({.ring = {{num_devices}, 0},
                           .m = 16 * num_devices,
                           .k = 128 * grid_k,
                           .n = 128 * grid_n * num_devices,
                           .bn = 128,
                           .bk = 128});
      }
    }
  }
}

}  // namespace
}  // namespace cmm::tpu
