// All devices run the same steps, so one walk stands for all: what a device does at some point of
// its program, its neighbours do at the same point of theirs. What arrives here at hop h is what
// this program sends at hop h - 1. A device gets past a wait for a neighbour if the neighbour's
// program starts what is awaited at an earlier point: of devices that all stand still, the one at
// the earliest point waits for something that its neighbour has already done.
//
// A load into a slot begins when it is started. What a neighbour sends may come at any time from
// the last grant on that the neighbour has awaited before it sends, or from the very beginning. The
// proof is that the tenancies of a slot (tile_slots.hpp) do not overlap.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "schedule/tile_products.hpp"
#include "schedule/tile_slots.hpp"
#include "schedule/tiles.hpp"

namespace cmm::schedule {
namespace {

using Kind = TileAction::Kind;

constexpr std::int64_t kNever = -1;

const char* side_name(Side side) { return side == Side::kForward ? "forward" : "backward"; }

struct Load {
  int tenancy = kNone;
  int hop = 0, group = 0, k_block = 0, block = 0;
  bool awaited = false;
};

struct Piece {
  bool sent = false;  // by the neighbour, at the hop before
  bool awaited = false;
  bool forwarded = false;
};

enum class OutSlot { kFree, kFilled, kStoring };

class Walk {
 public:
  explicit Walk(const TileSchedule& schedule)
      : schedule_(schedule),
        shape_(schedule.shape),
        products_(schedule.shape),
        x_slots_("x", shape_.x_slots),
        y_slots_("y", shape_.y_slots) {
    const int P = shape_.num_devices;
    const auto num_groups = static_cast<std::size_t>(shape_.num_groups());
    for (const Side side : kSides)
      pieces_[index(side)].assign(P, std::vector<Piece>(shape_.num_pieces(side)));
    received_.assign(P, std::vector<int>(num_groups, kNone));
    received_slot_ = received_;
    stored_x_.assign(P, std::vector<char>(num_groups, 0));
    x_loads_.resize(shape_.x_slots);
    y_loads_.resize(shape_.y_slots);
    storing_x_.assign(shape_.x_slots, kNoStore);
    for (const TileBody& body : shape_.bodies) out_.emplace_back(body.out_slots);
  }

  std::string run() {
    for (step_ = 0; step_ < static_cast<int>(schedule_.steps.size()) && ok(); ++step_)
      walk_step(schedule_.steps[step_]);
    step_ = kNone;
    if (ok()) walk_list(schedule_.drain, "drain");
    if (ok()) check_end();
    for (const TileSlots* slots : {&x_slots_, &y_slots_}) {
      const std::string overlap = slots->overlap();
      check(overlap.empty(), overlap);
    }
    return fault_;
  }

 private:
  static constexpr int kNoStore = -2;  // -1: a store that reads no slot

  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }
  bool ok() const { return fault_.empty(); }

  template <class... Parts>
  void fail(const Parts&... parts) {
    if (!ok()) return;
    fault_ = step_ == kNone ? cat("at the end: ", parts...) : cat("step ", step_, ": ", parts...);
  }
  // Whether it holds; else the walk ends.
  template <class... Parts>
  bool check(bool holds, const Parts&... parts) {
    if (!holds) fail(parts...);
    return holds;
  }
  bool in_range(const char* field, std::int64_t value, std::int64_t end) {
    return check(0 <= value && value < end, field, " ", value, " is not within 0..", end - 1);
  }

  void walk_step(const TileStep& step) {
    current_ = &step;
    stored_in_step_ = false;
    walk_list(step.waits, "waits");
    walk_list(step.starts, "starts");
    walk_list(step.operands, "operands");
    if (ok()) multiply(step);
    walk_list(step.after, "after");
    if (!ok() || step.body == kNone) return;
    const bool last = step.k_block == shape_.num_k_blocks() - 1;
    check(stored_in_step_ == last,
          last ? "the product is not stored" : "the product is stored before its last k block");
  }

  static bool belongs(Kind kind, std::string_view list, XHome home) {
    const bool wait = kind < Kind::kSend;
    if (list == "drain") return wait;
    if (list == "waits") return wait && kind != Kind::kAwaitX && kind != Kind::kAwaitY;
    if (list == "operands")
      return kind == Kind::kAwaitArrival || kind == Kind::kAwaitX || kind == Kind::kAwaitY;
    if (kind == Kind::kStoreX) return (list == "starts") == (home == XHome::kHbm);
    if (list == "starts")
      return kind == Kind::kSend || kind == Kind::kLoadX || kind == Kind::kLoadY;
    return kind == Kind::kStore || kind == Kind::kGrant;
  }

  void walk_list(const std::vector<TileAction>& actions, const char* list) {
    Kind last = Kind::kAwaitEntry;
    for (const TileAction& action : actions) {
      if (!ok()) return;
      if (!check(belongs(action.kind, list, shape_.x_home), "an action of kind ",
                 static_cast<int>(action.kind), " does not belong into the list ", list))
        return;
      if (!check(last <= action.kind, "the list ", list, " is not in the order of kinds")) return;
      last = action.kind;
      ++now_;
      act(action);
    }
  }

  void act(const TileAction& action) {
    switch (action.kind) {
      case Kind::kAwaitEntry:
        check(!entered_, "awaits the entry of the neighbours twice");
        check(shape_.num_devices > 1, "awaits the entry of neighbours that are not there");
        entered_ = true;
        break;
      case Kind::kAwaitDeparture:
        return await_departure(action);
      case Kind::kAwaitArrival:
        return await_arrival(action);
      case Kind::kAwaitX:
        if (in_range("slot", action.slot, shape_.x_slots))
          await_load(x_slots_, x_loads_[action.slot], "x");
        break;
      case Kind::kAwaitY:
        if (in_range("slot", action.slot, shape_.y_slots))
          await_load(y_slots_, y_loads_[action.slot], "y");
        break;
      case Kind::kAwaitStore:
        if (!out_in_range(action)) break;
        check(out(action) == OutSlot::kStoring, "awaits a store out of body ", action.body,
              "'s slot ", action.slot, " that was not started");
        out(action) = OutSlot::kFree;
        break;
      case Kind::kAwaitStoreX:
        return await_store_x(action);
      case Kind::kAwaitCredit:
        ++credits_[index(action.side)];
        check(credits_[index(action.side)] <= std::ssize(grants_[index(action.side)]), "awaits a ",
              side_name(action.side), " credit that is not granted before: deadlock");
        break;
      case Kind::kSend:
        return send(action);
      case Kind::kLoadX:
        return load_x(action);
      case Kind::kLoadY:
        return load_y(action);
      case Kind::kStore:
        return store(action);
      case Kind::kStoreX:
        return store_x(action);
      case Kind::kGrant:
        check(entered_, "grants a credit to a neighbour that may not have entered");
        grants_[index(action.side)].push_back(now_);
        break;
    }
  }

  void await_departure(const TileAction& action) {
    auto& sends = in_flight_[index(action.side)];
    if (!check(!sends.empty(), "awaits a ", side_name(action.side),
               " departure, and none is in flight"))
      return;
    if (sends.front() != kNone) use_x(sends.front());
    sends.erase(sends.begin());
  }

  Piece& piece(Side side, int hop, int number) { return pieces_[index(side)][hop][number]; }

  bool piece_in_range(const TileAction& action) {
    return in_range("hop", action.hop, shape_.num_devices) &&
           in_range("piece", action.piece, shape_.num_pieces(action.side));
  }

  void await_arrival(const TileAction& action) {
    if (!piece_in_range(action)) return;
    if (!check(action.hop > 0, "awaits the arrival of its own rows")) return;
    Piece& arriving = piece(action.side, action.hop, action.piece);
    const std::string what =
        cat(side_name(action.side), " piece ", action.piece, " at hop ", action.hop);
    check(arriving.sent, "awaits ", what, " that is not sent before: deadlock");
    check(!arriving.awaited, "awaits ", what, " twice");
    arriving.awaited = true;
    if (shape_.x_home == XHome::kVmem && ok()) use_x(received_[action.hop][group_of(action.piece)]);
  }

  int group_of(int piece) const {
    return static_cast<int>(piece / (shape_.side_rows / shape_.piece_rows));
  }

  void await_load(TileSlots& slots, Load& load, const char* what) {
    if (!check(load.tenancy != kNone && !load.awaited, "awaits a load of ", what,
               " that was not started"))
      return;
    load.awaited = true;
    slots.is_used(load.tenancy, now_);
  }

  void use_x(int tenancy) { x_slots_.is_used(tenancy, now_); }

  void await_store_x(const TileAction& action) {
    if (!in_range("slot", action.slot, shape_.x_slots)) return;
    int& tenancy = storing_x_[action.slot];
    if (!check(tenancy != kNoStore, "awaits a store of x out of slot ", action.slot,
               " that was not started"))
      return;
    if (tenancy != kNone) use_x(tenancy);
    tenancy = kNoStore;
  }

  void send(const TileAction& action) {
    if (!piece_in_range(action)) return;
    const std::string what =
        cat(side_name(action.side), " piece ", action.piece, " of hop ", action.hop);
    check(entered_, "sends before both neighbours have entered");
    if (!check(action.hop + 1 < shape_.num_devices, "sends ", what, ", which all have then"))
      return;
    Piece& source = piece(action.side, action.hop, action.piece);
    check(!source.forwarded, "sends ", what, " twice");
    check(action.hop == 0 || source.awaited, "sends ", what, " before it has arrived");
    source.forwarded = true;
    piece(action.side, action.hop + 1, action.piece).sent = true;

    auto& sends = in_flight_[index(action.side)];
    check(std::ssize(sends) < shape_.departures, "has more than ", shape_.departures, " ",
          side_name(action.side), " sends in flight");
    const int group = group_of(action.piece);
    int reads = kNone;
    if (shape_.x_home == XHome::kVmem && ok()) {
      if (action.hop > 0) {
        reads = received_[action.hop][group];
        check(action.slot == received_slot_[action.hop][group], "sends ", what, " out of slot ",
              action.slot, "; it lies in slot ", received_slot_[action.hop][group]);
      }
      receive(action, group);
    }
    sends.push_back(reads);
  }

  // The same action of the neighbour brings a piece into our slot.
  void receive(const TileAction& action, int group) {
    if (!in_range("to_slot", action.to_slot, shape_.x_slots)) return;
    int& tenancy = received_[action.hop + 1][group];
    int& slot = received_slot_[action.hop + 1][group];
    if (tenancy == kNone) {
      slot = action.to_slot;
      tenancy = x_slots_.add(slot, cat("hop ", action.hop + 1, " group ", group), now_);
    }
    check(slot == action.to_slot, "sends a piece of hop ", action.hop, " group ", group,
          " to slot ", action.to_slot, ", others of the group to slot ", slot);
    const std::int64_t credits = credits_[index(action.side)];
    const std::int64_t from = credits == 0 ? kNever : grants_[index(action.side)][credits - 1];
    x_slots_.may_begin(tenancy, from);
    use_x(tenancy);
  }

  bool group_in_range(const TileAction& action) {
    return in_range("hop", action.hop, shape_.num_devices) &&
           in_range("group", action.group, shape_.num_groups());
  }

  bool has_arrived(int hop, int group) {
    for (const Side side : kSides) {
      const Range range = shape_.group_pieces(side, group);
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        if (hop > 0 && !piece(side, hop, static_cast<int>(i)).awaited) return false;
      }
    }
    return true;
  }

  void load_x(const TileAction& action) {
    if (!group_in_range(action) || !in_range("slot", action.slot, shape_.x_slots) ||
        !in_range("k_block", action.k_block, shape_.num_k_blocks()))
      return;
    const std::string what = cat("hop ", action.hop, " group ", action.group);
    check(action.hop == 0 || shape_.x_home == XHome::kHbm, "loads ", what,
          ", which is received into VMEM");
    check(has_arrived(action.hop, action.group), "loads ", what, " before it has arrived");
    Load& load = x_loads_[action.slot];
    check(load.tenancy == kNone || load.awaited, "loads into x slot ", action.slot,
          " while a load is on its way there");
    load = {
        x_slots_.add(action.slot, what, now_), action.hop, action.group, action.k_block, 0, false};
  }

  void load_y(const TileAction& action) {
    if (!in_range("block", action.block, shape_.num_blocks()) ||
        !in_range("slot", action.slot, shape_.y_slots) ||
        !in_range("k_block", action.k_block, shape_.num_k_blocks()))
      return;
    Load& load = y_loads_[action.slot];
    check(load.tenancy == kNone || load.awaited, "loads into y slot ", action.slot,
          " while a load is on its way there");
    load = {y_slots_.add(action.slot, cat("block ", action.block), now_),
            0,
            0,
            action.k_block,
            action.block,
            false};
  }

  bool out_in_range(const TileAction& action) {
    return in_range("body", action.body, std::ssize(shape_.bodies)) &&
           in_range("slot", action.slot, shape_.bodies[action.body].out_slots);
  }
  OutSlot& out(const TileAction& action) { return out_[action.body][action.slot]; }

  void store(const TileAction& action) {
    if (!out_in_range(action)) return;
    check(action.body == current_->body && action.slot == current_->out_slot,
          "stores what another step has multiplied");
    check(out(action) == OutSlot::kFilled, "stores out of body ", action.body, "'s slot ",
          action.slot, ", where nothing new lies");
    out(action) = OutSlot::kStoring;
    stored_in_step_ = true;
  }

  void store_x(const TileAction& action) {
    if (!group_in_range(action) || !in_range("slot", action.slot, shape_.x_slots)) return;
    const std::string what = cat("hop ", action.hop, " group ", action.group);
    check(shape_.gathered, "stores x, which is no output");
    check(storing_x_[action.slot] == kNoStore, "stores x out of slot ", action.slot,
          " while a store is on its way there");
    char& stored = stored_x_[action.hop][action.group];
    check(stored == 0, "stores ", what, " twice");
    stored = 1;
    if (shape_.x_home == XHome::kHbm) {
      check(action.hop == 0, "stores ", what, ", which arrives in the gathered x");
      storing_x_[action.slot] = kNone;
      return;
    }
    const int tenancy = readable_x(action.slot, action.hop, action.group, 0);
    if (!ok()) return;
    storing_x_[action.slot] = tenancy;
    use_x(tenancy);
  }

  // The tenancy of a group in this slot, all of which has been awaited.
  int readable_x(int slot, int hop, int group, int k_block) {
    if (shape_.x_home == XHome::kVmem && hop > 0) {
      const bool here = received_[hop][group] != kNone && received_slot_[hop][group] == slot;
      check(here && has_arrived(hop, group), "reads hop ", hop, " group ", group, " in x slot ",
            slot, ", where it has not arrived or is not awaited");
      return received_[hop][group];
    }
    const Load& load = x_loads_[slot];
    const bool here =
        load.tenancy != kNone && load.hop == hop && load.group == group && load.k_block == k_block;
    check(here && load.awaited, "reads hop ", hop, " group ", group, " k block ", k_block,
          " in x slot ", slot, ", where it is not loaded or not awaited");
    return load.tenancy;
  }

  void multiply(const TileStep& step) {
    ++now_;
    if (step.body == kNone) {
      check(step.ops.empty(), "has ops and no body");
      return;
    }
    if (!in_range("body", step.body, std::ssize(shape_.bodies)) ||
        !in_range("k_block", step.k_block, shape_.num_k_blocks()))
      return;
    const TileBody& body = shape_.bodies[step.body];
    if (!in_range("out_slot", step.out_slot, body.out_slots)) return;
    if (!check(std::ssize(step.ops) == body.groups * body.blocks, "has ", step.ops.size(),
               " ops; its body has ", body.groups * body.blocks))
      return;
    for (const TileOp& op : step.ops) {
      if (ok()) read_operands(op, step.k_block);
    }
    if (!ok()) return;
    const std::string fault = products_.add(step);
    if (!check(fault.empty(), fault)) return;
    OutSlot& slot = out_[step.body][step.out_slot];
    check(slot == OutSlot::kFree, "multiplies into body ", step.body, "'s slot ", step.out_slot,
          ", which is not free");
    if (step.k_block == shape_.num_k_blocks() - 1) slot = OutSlot::kFilled;
  }

  void read_operands(const TileOp& op, int k_block) {
    if (!in_range("hop", op.hop, shape_.num_devices) ||
        !in_range("group", op.group, shape_.num_groups()) ||
        !in_range("block", op.block, shape_.num_blocks()) ||
        !in_range("x_slot", op.x_slot, shape_.x_slots) ||
        !in_range("y_slot", op.y_slot, shape_.y_slots))
      return;
    const int x = readable_x(op.x_slot, op.hop, op.group, k_block);
    const Load& y = y_loads_[op.y_slot];
    check(y.tenancy != kNone && y.block == op.block && y.k_block == k_block && y.awaited,
          "reads block ", op.block, " k block ", k_block, " in y slot ", op.y_slot,
          ", where it is not loaded or not awaited");
    if (!ok()) return;
    use_x(x);
    y_slots_.is_used(y.tenancy, now_);
  }

  void check_end() {
    const std::string fault = products_.check_end();
    check(fault.empty(), fault);
    check(entered_ || shape_.num_devices == 1, "the entry of the neighbours is never awaited");
    for (const Side side : kSides) {
      check(in_flight_[index(side)].empty(), "a ", side_name(side), " send is still in flight");
      check(credits_[index(side)] == std::ssize(grants_[index(side)]), "a ", side_name(side),
            " credit is granted that nobody awaits");
      for (int hop = 1; hop < shape_.num_devices; ++hop)
        for (const Piece& arriving : pieces_[index(side)][hop])
          check(arriving.sent && arriving.awaited, "a ", side_name(side), " piece of hop ", hop,
                " is not sent or not awaited");
    }
    for (const std::vector<Load>* loads : {&x_loads_, &y_loads_})
      for (const Load& load : *loads)
        check(load.tenancy == kNone || load.awaited, "a load is still in flight");
    for (const std::vector<OutSlot>& slots : out_)
      for (const OutSlot slot : slots) check(slot == OutSlot::kFree, "a store is still in flight");
    for (const int store : storing_x_) check(store == kNoStore, "a store of x is still in flight");
    if (!shape_.gathered) return;
    const int hops = shape_.x_home == XHome::kHbm ? 1 : shape_.num_devices;
    for (int hop = 0; hop < hops; ++hop)
      check(std::ranges::find(stored_x_[hop], 0) == stored_x_[hop].end(), "x of hop ", hop,
            " is not stored");
  }

  const TileSchedule& schedule_;
  const TileShape& shape_;
  TileProducts products_;
  TileSlots x_slots_, y_slots_;
  std::string fault_;
  int step_ = 0;
  const TileStep* current_ = nullptr;
  bool stored_in_step_ = false;
  std::int64_t now_ = 0;

  bool entered_ = false;
  std::array<std::vector<int>, 2> in_flight_;     // tenancy each send reads; kNone: HBM
  std::array<std::int64_t, 2> credits_ = {0, 0};  // awaited
  std::array<std::vector<std::int64_t>, 2> grants_;
  std::array<std::vector<std::vector<Piece>>, 2> pieces_;  // [hop][piece]
  std::vector<std::vector<int>> received_;                 // tenancy of [hop][group]
  std::vector<std::vector<int>> received_slot_;
  std::vector<std::vector<char>> stored_x_;
  std::vector<Load> x_loads_, y_loads_;    // the last into each slot
  std::vector<int> storing_x_;             // tenancy read, of each slot
  std::vector<std::vector<OutSlot>> out_;  // [body][slot]
};

}  // namespace

std::string verify(const TileSchedule& schedule) {
  check_tile_shape(schedule.shape);
  return Walk(schedule).run();
}

}  // namespace cmm::schedule
