// The out slots of each body, which its products take in turn: a product is stored from its slot
// while others go on, and the slot is free again when all of it is in HBM.
#pragma once

#include <vector>

#include "sim/list_context.hpp"

namespace cmm::sim {

class OutSlots {
 public:
  explicit OutSlots(ListContext& context);

  // The slot of the body's next product.
  int next(int body) const { return next_[body]; }
  // Waits in this step until it is free.
  void await_next(int body);
  // Starts the stores of what the step has multiplied.
  void store(int body);
  // At the end: waits for the stores that nothing has waited for, body by body.
  enum class DrainOrder { kOldestFirst, kBySlot };
  void drain(DrainOrder order, std::vector<schedule::TileAction>& drain) const;

 private:
  ListContext& context_;
  std::vector<std::vector<std::vector<int>>> stores_;  // [body][slot]: not awaited
  std::vector<int> next_;                              // by body
};

}  // namespace cmm::sim
