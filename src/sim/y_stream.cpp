#include "sim/y_stream.hpp"

namespace cmm::sim {

using Kind = schedule::TileAction::Kind;

YStream::YStream(ListContext& context, const TileChoice& choice)
    : context_(context), loads_(choice.num_loads()), is_there_(choice.num_loads()) {
  for (int load = 0; load < choice.num_loads(); ++load)
    uses_left_.push_back(choice.pairs_of_load(load));
  for (int slot = context.shape.y_slots; slot-- > 0;) free_slots_.push_back(slot);
}

void YStream::look_around() {
  for (const int load : in_flight_) {
    loads_[load].is_there = context_.are_done(loads_[load].copies);
    is_there_[load] = loads_[load].is_there;
  }
  std::erase_if(in_flight_,
                [this](int load) { return loads_[load].is_there && loads_[load].awaited; });
}

double YStream::bytes_in_flight() const {
  double bytes = 0;
  for (const int load : in_flight_) bytes += context_.bytes_left(loads_[load].copies);
  return bytes;
}

double YStream::next_bytes() const {
  double least = 0;
  for (const int load : in_flight_) {
    for (const int copy : loads_[load].copies) {
      const double left = context_.bytes_left({copy});
      if (left > 0 && (least == 0 || left < least)) least = left;
    }
  }
  return least;
}

double YStream::load() {
  const int number = next_++;
  const int block = number % context_.shape.num_blocks();
  const CopyWork part = context_.works.load_y_part(block);
  SlotLoad& load = loads_[number];
  load.slot = free_slots_.back();
  free_slots_.pop_back();
  for (int i = 0; i < context_.shape.y_parts; ++i)
    load.copies.push_back(context_.engine.start(part));
  in_flight_.push_back(number);
  context_.step.starts.push_back({.kind = Kind::kLoadY, .block = block, .slot = load.slot});
  return part.bytes * context_.shape.y_parts;
}

void YStream::await(int load) {
  if (loads_[load].awaited) return;
  loads_[load].awaited = true;
  context_.step.operands.push_back({.kind = Kind::kAwaitY, .slot = loads_[load].slot});
}

bool YStream::await_new() {
  for (const int load : in_flight_) {
    if (loads_[load].awaited || !context_.are_done(loads_[load].copies)) continue;
    await(load);
    return true;
  }
  return false;
}

void YStream::is_used(int load) {
  if (--uses_left_[load] > 0) return;
  is_there_[load] = 0;
  free_slots_.push_back(loads_[load].slot);
  while (first_used_ < next_ && uses_left_[first_used_] == 0) ++first_used_;
}

}  // namespace cmm::sim
