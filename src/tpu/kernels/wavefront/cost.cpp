#include "tpu/kernels/wavefront/cost.hpp"

#include "tpu/kernels/wavefront/code.hpp"

namespace cmm::tpu::wavefront {
namespace {

using schedule::kSides;
using schedule::TileAction;
using schedule::TileShape;
using schedule::XHome;

// Counts the actions of one device. What it sends it also receives, as all devices run alike.
class Traffic {
 public:
  Traffic(const TileShape& shape, const WavefrontOptions& options)
      : shape_(shape),
        bytes_(element_bytes(options.element)),
        out_bytes_(element_bytes(options.out_element)) {}

  void add(const TileAction& action) {
    switch (action.kind) {
      case Kind::kSend: {
        const std::int64_t bytes =
            shape_.piece(action.side, action.piece).size() * shape_.k * bytes_;
        const bool through_hbm = shape_.x_home == XHome::kHbm;
        cost_.remote_bytes += bytes;
        if (through_hbm || action.hop == 0) cost_.hbm_bytes += bytes;  // read here
        if (through_hbm) cost_.hbm_bytes += bytes;  // written by the neighbour's send
        break;
      }
      case Kind::kLoadX:
        cost_.hbm_bytes += group_rows(action.group) * shape_.block_k * bytes_;
        break;
      case Kind::kLoadY:
        cost_.hbm_bytes += shape_.block_k * shape_.block_columns(action.block).size() * bytes_;
        break;
      case Kind::kStoreX:
        cost_.hbm_bytes +=
            group_rows(action.group) * shape_.k * bytes_ * (shape_.x_home == XHome::kHbm ? 2 : 1);
        break;
      default:
        break;
    }
  }

  Cost finish(const WavefrontOptions& options) {
    for (const std::int64_t cols : options.asked.cols) {
      cost_.flops += 2 * options.asked.m * options.asked.k * cols;
    }
    for (const std::int64_t cols : shape_.cols) {
      cost_.hbm_bytes += shape_.num_devices * shape_.shard_rows * cols * out_bytes_;
    }
    return cost_;
  }

 private:
  std::int64_t group_rows(int group) const {
    std::int64_t rows = 0;
    for (const schedule::Side side : kSides) rows += shape_.group_rows(side, group).size();
    return rows;
  }

  const TileShape& shape_;
  const std::int64_t bytes_, out_bytes_;
  Cost cost_;
};

}  // namespace

Cost cost(const schedule::TileSchedule& schedule, const WavefrontOptions& options) {
  Traffic traffic(schedule.shape, options);
  for (const schedule::TileStep& step : schedule.steps) {
    for (const auto* actions : {&step.starts, &step.after}) {
      for (const TileAction& action : *actions) traffic.add(action);
    }
  }
  return traffic.finish(options);
}

}  // namespace cmm::tpu::wavefront
