#include "sim/out_slots.hpp"

namespace cmm::sim {

using Kind = schedule::TileAction::Kind;

OutSlots::OutSlots(ListContext& context) : context_(context), next_(context.shape.bodies.size()) {
  for (const schedule::TileBody& body : context.shape.bodies) stores_.emplace_back(body.out_slots);
}

void OutSlots::await_next(int body) {
  std::vector<int>& stores = stores_[body][next_[body]];
  if (stores.empty()) return;
  context_.step.waits.push_back({.kind = Kind::kAwaitStore, .body = body, .slot = next_[body]});
  for (const int store : stores) context_.engine.wait(store);
  stores.clear();
}

void OutSlots::store(int body) {
  const schedule::TileBody& shape = context_.shape.bodies[body];
  const int together = shape.free ? 1 : shape.blocks;
  int& slot = next_[body];
  for (std::size_t i = 0; i < context_.step.ops.size(); i += together) {
    const schedule::TileOp& op = context_.step.ops[i];
    stores_[body][slot].push_back(
        context_.engine.start(context_.works.store(op.group, op.block, together)));
  }
  context_.step.after.push_back({.kind = Kind::kStore, .body = body, .slot = slot});
  slot = (slot + 1) % shape.out_slots;
}

void OutSlots::drain(DrainOrder order, std::vector<schedule::TileAction>& drain) const {
  for (std::size_t body = 0; body < stores_.size(); ++body) {
    const int first = order == DrainOrder::kOldestFirst ? next_[body] : 0;
    for (std::size_t i = 0; i < stores_[body].size(); ++i) {
      const std::size_t slot = (first + i) % stores_[body].size();
      if (stores_[body][slot].empty()) continue;
      drain.push_back({.kind = Kind::kAwaitStore,
                       .body = static_cast<int>(body),
                       .slot = static_cast<int>(slot)});
    }
  }
}

}  // namespace cmm::sim
