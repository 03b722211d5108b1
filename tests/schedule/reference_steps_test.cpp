#include "schedule/reference_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace cmm::schedule {
namespace {

using Kind = ReferenceAction::Kind;

// What one device has done, and what may be done next. All devices do the same.
class Walk {
 public:
  explicit Walk(const ReferenceShape& shape) : shape_(shape) {}

  void act(const ReferenceAction& action) {
    const std::tuple x(action.hop, action.k_block), y(action.block, action.k_block);
    switch (action.kind) {
      case Kind::kEnter:
        EXPECT_FALSE(entered_);
        entered_ = true;
        break;
      case Kind::kSend:
        EXPECT_TRUE(entered_);
        EXPECT_TRUE(here(action.hop)) << "hop " << action.hop << " is sent before it has come";
        EXPECT_TRUE(sent_.insert(action.hop).second);
        break;
      case Kind::kAwaitHop:
        EXPECT_TRUE(sent_.contains(action.hop));
        EXPECT_TRUE(awaited_hops_.insert(action.hop).second);
        break;
      case Kind::kLoadX:
        EXPECT_TRUE(here(action.hop)) << "hop " << action.hop << " is loaded before it has come";
        // Each k block has its place in the slot.
        x_[{action.slot, action.k_block}] = {action.hop, false};
        break;
      case Kind::kAwaitX:
        EXPECT_EQ(x_.at({action.slot, action.k_block}), (std::pair{action.hop, false}));
        x_[{action.slot, action.k_block}].second = true;
        break;
      case Kind::kLoadY:
        EXPECT_TRUE(y_.try_emplace(y, false).second);
        break;
      case Kind::kAwaitY:
        EXPECT_FALSE(std::exchange(y_.at(y), true));
        break;
      case Kind::kMultiply:
        multiply(action);
        break;
      case Kind::kStore:
        EXPECT_EQ(out_[action.slot], (Out{action.hop, action.block, Out::kFinished}));
        out_[action.slot].state = Out::kStoring;
        EXPECT_TRUE(stored_.insert({action.hop, action.block}).second);
        break;
      case Kind::kAwaitStore:
        EXPECT_EQ(out_[action.slot], (Out{action.hop, action.block, Out::kStoring}));
        out_[action.slot] = {};
        break;
    }
  }

  void end() {
    EXPECT_EQ(static_cast<int>(sent_.size()), shape_.num_devices - 1);
    EXPECT_EQ(sent_, awaited_hops_);
    EXPECT_EQ(static_cast<std::int64_t>(stored_.size()), shape_.num_devices * shape_.grid_n);
    for (const Out& out : out_) EXPECT_EQ(out.state, Out::kFree);
  }

 private:
  struct Out {
    enum State { kFree, kFinished, kStoring };
    int hop = 0, block = 0;
    State state = kFree;
    friend bool operator==(const Out&, const Out&) = default;
  };

  bool here(int hop) const { return hop == 0 || awaited_hops_.contains(hop - 1); }

  void multiply(const ReferenceAction& action) {
    EXPECT_EQ(x_.at({action.slot, action.k_block}), (std::pair{action.hop, true}));
    EXPECT_TRUE(y_.at({action.block, action.k_block}));
    // All k blocks of a tile in order, then the next tile.
    EXPECT_EQ(action.k_block, next_k_block_);
    if (action.k_block > 0) {
      EXPECT_EQ(tile_, (std::pair{action.hop, action.block}));
    }
    tile_ = {action.hop, action.block};
    next_k_block_ = (action.k_block + 1) % static_cast<int>(shape_.grid_k);
    if (next_k_block_ != 0) return;
    EXPECT_EQ(out_[action.out_slot].state, Out::kFree) << "the out slot is in use";
    out_[action.out_slot] = {action.hop, action.block, Out::kFinished};
  }

  const ReferenceShape shape_;
  bool entered_ = false;
  std::set<int> sent_, awaited_hops_;
  std::map<std::pair<int, int>, std::pair<int, bool>> x_;  // [slot, k block]: hop, awaited
  std::map<std::tuple<int, int>, bool> y_;                 // [block, k block]: awaited
  std::array<Out, 2> out_;
  std::pair<int, int> tile_;
  int next_k_block_ = 0;
  std::set<std::pair<int, int>> stored_;
};

TEST(ReferenceSteps, MultiplyEverythingOnceFromWhatIsThere) {
  for (int num_devices = 2; num_devices <= 9; ++num_devices) {
    for (std::int64_t grid_n = 1; grid_n <= 4; ++grid_n) {
      for (std::int64_t grid_k = 1; grid_k <= 4; ++grid_k) {
        SCOPED_TRACE(testing::Message() << num_devices << " devices, " << grid_n << "x" << grid_k);
        const ReferenceShape shape = {num_devices, grid_n, grid_k};
        const auto steps = reference_steps(shape);
        EXPECT_EQ(static_cast<std::int64_t>(steps.size()), (num_devices + 2) * grid_n * grid_k);
        Walk walk(shape);
        for (const auto& step : steps) {
          EXPECT_TRUE(std::ranges::is_sorted(step, {}, &ReferenceAction::kind));
          for (const ReferenceAction& action : step) walk.act(action);
        }
        walk.end();
      }
    }
  }
}

}  // namespace
}  // namespace cmm::schedule
