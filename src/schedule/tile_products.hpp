// Which products the steps of a tile schedule make: the part of its proof that is about arithmetic.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "schedule/tiles.hpp"

namespace cmm::schedule {

class TileProducts {
 public:
  explicit TileProducts(const TileShape& shape)
      : shape_(shape),
        done_(
            static_cast<std::size_t>(shape.num_devices * shape.num_groups() * shape.num_blocks())) {
  }

  // The step's body, ops and indices are within range. What is wrong with them, or nothing.
  std::string add(const TileStep& step) {
    std::string fault;
    if (!shape_.bodies[step.body].free) fault = check_rectangle(step);
    if (fault.empty()) fault = check_k_block(step);
    if (fault.empty() && step.k_block == 0) fault = mark_done(step);
    return fault;
  }

  std::string check_end() const {
    if (product_ != nullptr) return "a product lacks k blocks";
    const auto missing = std::ranges::find(done_, 0) - done_.begin();
    if (missing == std::ssize(done_)) return {};
    const std::int64_t group = missing / shape_.num_blocks();
    return cat("hop ", group / shape_.num_groups(), " group ", group % shape_.num_groups(),
               " is never multiplied by block ", missing % shape_.num_blocks());
  }

 private:
  std::string check_rectangle(const TileStep& step) const {
    const auto blocks = static_cast<std::size_t>(shape_.bodies[step.body].blocks);
    const TileOp& first = step.ops[0];
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      const TileOp& op = step.ops[i];
      const TileOp& row = step.ops[i / blocks * blocks];
      const TileOp& column = step.ops[i % blocks];
      if (op.hop != row.hop || op.group != row.group || op.x_slot != row.x_slot ||
          op.x_slot != first.x_slot + static_cast<int>(i / blocks))
        return cat("op ", i,
                   " is not of its row's group, in the x slot after that of the row before");
      if (op.block != column.block || op.y_slot != column.y_slot ||
          op.block != first.block + static_cast<int>(i % blocks) ||
          shape_.right_side_of(op.block) != shape_.right_side_of(first.block))
        return cat("op ", i, " is not of its column's block, the next one of one right side");
    }
    return {};
  }

  // All k blocks of a product stand in steps that follow each other.
  std::string check_k_block(const TileStep& step) {
    if (step.k_block > 0 && !continues(step))
      return cat("adds k block ", step.k_block, " to another product");
    if (step.k_block == 0 && product_ != nullptr)
      return "begins a product before all k blocks of the last are added";
    product_ = step.k_block + 1 < shape_.num_k_blocks() ? &step : nullptr;
    return {};
  }
  bool continues(const TileStep& step) const {
    const auto same = [](const TileOp& a, const TileOp& b) {
      return a.hop == b.hop && a.group == b.group && a.block == b.block;
    };
    return product_ != nullptr && product_->body == step.body &&
           product_->out_slot == step.out_slot && product_->k_block + 1 == step.k_block &&
           std::equal(step.ops.begin(), step.ops.end(), product_->ops.begin(), product_->ops.end(),
                      same);
  }

  std::string mark_done(const TileStep& step) {
    for (const TileOp& op : step.ops) {
      char& done =
          done_[(op.hop * shape_.num_groups() + op.group) * shape_.num_blocks() + op.block];
      if (done != 0)
        return cat("multiplies hop ", op.hop, " group ", op.group, " by block ", op.block,
                   " again");
      done = 1;
    }
    return {};
  }

  const TileShape& shape_;
  const TileStep* product_ = nullptr;  // whose further k blocks must follow
  std::vector<char> done_;             // [hop][group][block]
};

}  // namespace cmm::schedule
