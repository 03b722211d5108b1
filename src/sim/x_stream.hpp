// Rows of x on their way round the ring: the part of the list scheduler that loads, sends, receives
// and stores them.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "sim/list_context.hpp"
#include "sim/tile_choice.hpp"

namespace cmm::sim {

// Groups are counted as TileChoice does: hop * num_groups + group.
class XStream {
 public:
  XStream(ListContext& context, const TileChoice& choice);

  void look_around();
  // That have products to go, in ascending order: as many as TileChoice looks at.
  std::vector<int> groups_there() const;

  // Waits that cost nothing now: arrivals that nobody has had to wait for yet, and what keeps a
  // slot from being free. A few in every step, so that no step needs many fields for them.
  void await_what_has_come();

  double bytes_in_flight() const;  // of loads
  bool can_load() const;
  double load();  // its bytes
  // For loads through HBM that others start: all up to this group are there, or the own.
  bool may_load(int group) const { return hop_of(group) == 0 || has_landed(group); }
  void await_landed(int group);
  void send(double step_seconds);
  void store_own();  // through HBM: the own shard does not come there by itself
  bool has_own_to_store() const { return own_stored_ < num_own_stores_; }

  int slot_of(int group) const { return slots_[group]; }
  void await(int group);                           // before the product
  void store(const TileChoice::Product& product);  // out of slots that are multiplied first
  void free_slots();                               // at the end of a step
  // Before time goes on, and after: is there something that allows another start or product?
  void remember();
  bool await_new();
  void drain(std::vector<schedule::TileAction>& waits);

 private:
  // The pieces of one side, in the order they are sent: by hop, within it by piece. What is sent as
  // number i leaves here and arrives here, from the other neighbour, at the same time.
  struct Flow {
    schedule::Side side = schedule::Side::kForward;
    int num_pieces = 0;  // of a hop
    int num_sends = 0;
    std::vector<int> copies;  // of those sent
    int num_landed = 0;       // the first so many have arrived
    int num_awaited = 0;      // arrivals
    int num_departed = 0;     // awaited departures
    std::deque<int> credits;  // on their way, or here and not yet awaited
    bool had_credit = false;
    int credited = 0;  // groups before this one may be sent
    int num_sent() const { return static_cast<int>(copies.size()); }
  };

  int hop_of(int group) const { return group / groups_per_hop_; }
  bool is_received(int group) const {
    return context_.shape.x_home == schedule::XHome::kVmem && hop_of(group) > 0;
  }
  int arrivals_of(const Flow& flow, int group) const;
  bool has_landed(int group) const;
  int group_of_send(const Flow& flow, int number) const;
  bool can_send(const Flow& flow) const;
  double send(Flow& flow);
  bool has_credit(const Flow& flow) const {
    return !flow.credits.empty() && context_.engine.is_done(flow.credits.front());
  }
  void list_units();  // those that have got slots since
  void grant(int group);
  bool is_finished(int group) const;

  void await_arrivals(std::vector<schedule::TileAction>& list, Flow& flow, int upto);
  void await_departure(Flow& flow);
  void await_store(int slot);

  ListContext& context_;
  const TileChoice& choice_;
  int groups_per_hop_;
  int num_groups_;
  bool is_ring_;  // slots are used again
  std::array<Flow, 2> flows_;
  int entry_ = schedule::kNone;
  bool entered_ = false;

  std::vector<SlotLoad> loads_;
  int next_load_ = 0;
  int next_landed_;  // of those received into slots
  // In ascending order, of those that still have products to go. There are no more than slots,
  // whereas all groups may be many.
  std::vector<int> loaded_, landed_;

  std::vector<int> slots_;
  int unit_ = 1;            // groups whose slots are side by side
  int num_with_slot_ = 0;   // the first so many groups have a slot, or had one
  std::vector<int> units_;  // first groups of those that have slots, or wait for them to be free
  int next_unit_ = 0;

  std::vector<int> stores_;  // out of each slot, not yet awaited
  int num_own_stores_ = 0;
  int own_stored_ = 0;
};

}  // namespace cmm::sim
