#include "sim/x_stream.hpp"

#include <algorithm>

namespace cmm::sim {
namespace {

using schedule::kNone;
using schedule::kSides;
using schedule::TileAction;
using schedule::TileBody;
using schedule::TileShape;
using schedule::XHome;
using Kind = TileAction::Kind;

// Sends are kept on their way for at least so long a step, however short it is.
constexpr double kShortestStep = 0.3e-6;

}  // namespace

XStream::XStream(ListContext& context, const TileChoice& choice)
    : context_(context),
      choice_(choice),
      groups_per_hop_(static_cast<int>(context.shape.num_groups())),
      num_groups_(context.shape.num_devices * groups_per_hop_),
      is_ring_(context.shape.x_slots < num_groups_),
      loads_(num_groups_),
      next_landed_(groups_per_hop_),
      slots_(num_groups_, kNone),
      stores_(context.shape.x_slots, kNone) {
  const TileShape& shape = context.shape;
  for (const TileBody& body : shape.bodies) unit_ = std::max(unit_, body.groups);
  for (; num_with_slot_ < std::min(num_groups_, shape.x_slots); ++num_with_slot_)
    slots_[num_with_slot_] = num_with_slot_;
  list_units();
  for (const schedule::Side side : kSides) {
    Flow& flow = flows_[static_cast<std::size_t>(side)];
    flow.side = side;
    flow.num_pieces = static_cast<int>(shape.num_pieces(side));
    flow.num_sends = (shape.num_devices - 1) * flow.num_pieces;
    flow.credited = shape.x_home == XHome::kVmem ? shape.x_slots : num_groups_;
  }
  if (shape.num_devices > 1) entry_ = context.engine.start(context.works.entry());
  if (shape.gathered && shape.x_home == XHome::kHbm) num_own_stores_ = groups_per_hop_;
}

// ---- what has come

void XStream::look_around() {
  for (Flow& flow : flows_) {
    while (flow.num_landed < flow.num_sent() &&
           context_.engine.is_done(flow.copies[flow.num_landed]))
      ++flow.num_landed;
  }
  const auto is_used_up = [this](int group) { return choice_.pairs_left(group) == 0; };
  std::erase_if(loaded_, is_used_up);
  std::erase_if(landed_, is_used_up);
  for (const int group : loaded_) loads_[group].is_there = context_.are_done(loads_[group].copies);
  while (next_landed_ < num_groups_ && is_received(next_landed_) && has_landed(next_landed_))
    landed_.push_back(next_landed_++);
}

// Sends of the hop before, up to the last piece of the group.
int XStream::arrivals_of(const Flow& flow, int group) const {
  const Range pieces = context_.shape.group_pieces(flow.side, group % groups_per_hop_);
  return (hop_of(group) - 1) * flow.num_pieces + static_cast<int>(pieces.end);
}

bool XStream::has_landed(int group) const {
  return std::ranges::all_of(flows_, [this, group](const Flow& flow) {
    return flow.num_landed >= arrivals_of(flow, group);
  });
}

std::vector<int> XStream::groups_there() const {
  std::vector<int> groups;
  for (const int group : loaded_) {
    if (loads_[group].is_there) groups.push_back(group);
    if (!loads_[group].is_there && hop_of(group) > 0) break;  // the rest comes later
  }
  groups.insert(groups.end(), landed_.begin(), landed_.end());
  if (std::ssize(groups) > TileChoice::kMostGroups) groups.resize(TileChoice::kMostGroups);
  return groups;
}

// ---- waits

void XStream::await_arrivals(std::vector<TileAction>& list, Flow& flow, int upto) {
  for (; flow.num_awaited < upto; ++flow.num_awaited)
    list.push_back({.kind = Kind::kAwaitArrival,
                    .side = flow.side,
                    .hop = flow.num_awaited / flow.num_pieces + 1,
                    .piece = flow.num_awaited % flow.num_pieces});
}

void XStream::await_departure(Flow& flow) {
  context_.step.waits.push_back({.kind = Kind::kAwaitDeparture, .side = flow.side});
  ++flow.num_departed;
}

void XStream::await_store(int slot) {
  context_.engine.wait(stores_[slot]);
  context_.step.waits.push_back({.kind = Kind::kAwaitStoreX, .slot = slot});
  stores_[slot] = kNone;
}

void XStream::await_what_has_come() {
  const int few = context_.parameters.sends_per_step + 1;
  for (Flow& flow : flows_) {
    await_arrivals(context_.step.waits, flow, std::min(flow.num_landed, flow.num_awaited + few));
    if (!is_ring_) continue;
    for (int i = 0; i < few && flow.num_departed < flow.num_landed; ++i) await_departure(flow);
  }
  if (!is_ring_ || !context_.shape.gathered) return;
  for (std::size_t slot = 0; slot < stores_.size(); ++slot) {
    if (stores_[slot] != kNone && context_.engine.is_done(stores_[slot]))
      await_store(static_cast<int>(slot));
  }
}

void XStream::await(int group) {
  auto& operands = context_.step.operands;
  if (is_received(group)) {
    for (Flow& flow : flows_) await_arrivals(operands, flow, arrivals_of(flow, group));
  } else if (!loads_[group].awaited) {
    loads_[group].awaited = true;
    operands.push_back({.kind = Kind::kAwaitX, .slot = slots_[group]});
  }
}

void XStream::remember() {
  for (Flow& flow : flows_) flow.had_credit = has_credit(flow);
}

bool XStream::await_new() {
  if (entry_ != kNone && !entered_ && context_.engine.is_done(entry_)) return true;
  for (Flow& flow : flows_) {
    const bool landed = flow.num_awaited < flow.num_sent() &&
                        context_.engine.is_done(flow.copies[flow.num_awaited]);
    if (landed) await_arrivals(context_.step.operands, flow, flow.num_awaited + 1);
    if (landed || (has_credit(flow) && !flow.had_credit)) return true;
  }
  for (const int group : loaded_) {
    if (loads_[group].awaited || !context_.are_done(loads_[group].copies)) continue;
    await(group);
    return true;
  }
  return false;
}

void XStream::drain(std::vector<TileAction>& waits) {
  if (entry_ != kNone && !entered_) waits.push_back({.kind = Kind::kAwaitEntry});
  for (Flow& flow : flows_) {
    for (; flow.num_departed < flow.num_sent(); ++flow.num_departed)
      waits.push_back({.kind = Kind::kAwaitDeparture, .side = flow.side});
  }
  for (std::size_t slot = 0; slot < stores_.size(); ++slot) {
    if (stores_[slot] != kNone)
      waits.push_back({.kind = Kind::kAwaitStoreX, .slot = static_cast<int>(slot)});
  }
}

// ---- loads

double XStream::bytes_in_flight() const {
  double bytes = 0;
  for (const int group : loaded_) bytes += context_.bytes_left(loads_[group].copies);
  return bytes;
}

bool XStream::can_load() const {
  if (next_load_ == num_groups_ || is_received(next_load_)) return false;
  return next_load_ < num_with_slot_ && may_load(next_load_);
}

void XStream::await_landed(int group) {
  if (hop_of(group) == 0) return;
  for (Flow& flow : flows_) await_arrivals(context_.step.waits, flow, arrivals_of(flow, group));
}

double XStream::load() {
  const int group = next_load_++;
  loaded_.push_back(group);
  await_landed(group);
  const int in_hop = group % groups_per_hop_;
  const CopyWork work = context_.works.load_x(in_hop, context_.engine.now());
  loads_[group].copies = {context_.engine.start(work)};
  context_.step.starts.push_back(
      {.kind = Kind::kLoadX, .hop = hop_of(group), .group = in_hop, .slot = slots_[group]});
  return work.bytes;
}

// ---- sends

int XStream::group_of_send(const Flow& flow, int number) const {
  const std::int64_t piece = number % flow.num_pieces;
  return number / flow.num_pieces * groups_per_hop_ +
         static_cast<int>(piece / (context_.shape.side_rows / context_.shape.piece_rows));
}

void XStream::send(double step_seconds) {
  if (entry_ == kNone) return;
  if (!entered_) {
    if (!context_.engine.is_done(entry_)) return;
    context_.step.waits.push_back({.kind = Kind::kAwaitEntry});
    entered_ = true;
  }
  const double wanted = context_.machine.link_bytes_per_second *
                        (std::max(step_seconds, kShortestStep) + context_.machine.hop_seconds) *
                        context_.parameters.send_ahead;
  for (Flow& flow : flows_) {
    double in_flight =
        context_.bytes_left({flow.copies.begin() + flow.num_landed, flow.copies.end()});
    for (int i = 0; i < context_.parameters.sends_per_step && in_flight < wanted && can_send(flow);
         ++i)
      in_flight += send(flow);
  }
}

bool XStream::can_send(const Flow& flow) const {
  const int number = flow.num_sent();
  if (number == flow.num_sends) return false;
  const bool is_here = number < flow.num_pieces || number - flow.num_pieces < flow.num_landed;
  const bool semaphore_is_free = number - flow.num_departed < context_.shape.departures ||
                                 context_.engine.is_done(flow.copies[flow.num_departed]);
  const int to = group_of_send(flow, number) + groups_per_hop_;
  return is_here && semaphore_is_free && (to < flow.credited || has_credit(flow));
}

double XStream::send(Flow& flow) {
  const int number = flow.num_sent();
  const int group = group_of_send(flow, number);
  const int to = group + groups_per_hop_;
  if (number - flow.num_departed >= context_.shape.departures) await_departure(flow);
  await_arrivals(context_.step.waits, flow, number - flow.num_pieces + 1);
  if (to >= flow.credited) {
    context_.step.waits.push_back({.kind = Kind::kAwaitCredit, .side = flow.side});
    flow.credits.pop_front();
    flow.credited = to + 1;
  }
  const bool received = context_.shape.x_home == XHome::kVmem;
  const int hop = hop_of(group);
  const int piece = number % flow.num_pieces;
  const CopyWork work = context_.works.send(flow.side, hop, piece);
  flow.copies.push_back(context_.engine.start(work));
  context_.step.starts.push_back({.kind = Kind::kSend,
                                  .side = flow.side,
                                  .hop = hop,
                                  .piece = piece,
                                  .slot = received && hop > 0 ? slots_[group] : 0,
                                  .to_slot = received ? slots_[to] : 0});
  return work.bytes;
}

// ---- stores

void XStream::store_own() {
  if (!has_own_to_store()) return;
  const int group = own_stored_++;
  const int slot = group % context_.shape.x_slots;
  if (stores_[slot] != kNone) await_store(slot);
  stores_[slot] = context_.engine.start(context_.works.store_x(group));
  context_.step.starts.push_back({.kind = Kind::kStoreX, .group = group, .slot = slot});
}

void XStream::store(const TileChoice::Product& product) {
  if (!context_.shape.gathered || context_.shape.x_home == XHome::kHbm) return;
  int last = kNone;
  for (const TilePair pair : product.pairs) {
    const bool is_first = choice_.pairs_left(pair.group) == context_.shape.num_blocks();
    if (!is_first || pair.group == last || stores_[slots_[pair.group]] != kNone) continue;
    last = pair.group;
    const int in_hop = pair.group % groups_per_hop_;
    stores_[slots_[pair.group]] = context_.engine.start(context_.works.store_x(in_hop));
    context_.step.after.push_back({.kind = Kind::kStoreX,
                                   .hop = hop_of(pair.group),
                                   .group = in_hop,
                                   .slot = slots_[pair.group]});
  }
}

// ---- slots

// The slots of a unit are freed together and taken up by the next groups that have none, so that
// rectangles find groups side by side.
void XStream::free_slots() {
  if (!is_ring_ || (entry_ != kNone && !entered_)) return;
  std::size_t num_kept = 0;
  for (const int begin : units_) {
    bool finished = num_with_slot_ < num_groups_;
    for (int group = begin; finished && group < std::min(begin + unit_, num_groups_); ++group)
      finished = is_finished(group);
    if (!finished) {
      units_[num_kept++] = begin;
      continue;
    }
    for (int i = 0; i < unit_ && num_with_slot_ < num_groups_; ++i) {
      slots_[num_with_slot_] = slots_[begin + i];
      grant(num_with_slot_++);
    }
  }
  units_.resize(num_kept);
  list_units();
}

void XStream::list_units() {
  for (; next_unit_ < num_with_slot_; next_unit_ += unit_) units_.push_back(next_unit_);
}

void XStream::grant(int group) {
  if (!is_received(group)) return;
  for (Flow& flow : flows_) {
    if (context_.shape.group_rows(flow.side, group % groups_per_hop_).size() == 0) continue;
    context_.step.after.push_back({.kind = Kind::kGrant, .side = flow.side});
    flow.credits.push_back(context_.engine.start(context_.works.credit()));
  }
}

bool XStream::is_finished(int group) const {
  if (choice_.pairs_left(group) > 0) return false;
  if (context_.shape.x_home == XHome::kHbm) return true;
  if (context_.shape.gathered && stores_[slots_[group]] != kNone) return false;
  const int hop = hop_of(group);
  if (hop == 0 || hop == context_.shape.num_devices - 1) return true;
  return std::ranges::all_of(flows_, [this, group](const Flow& flow) {
    return flow.num_departed >= arrivals_of(flow, group + groups_per_hop_);
  });
}

}  // namespace cmm::sim
