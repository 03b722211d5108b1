#include "sim/copy_engine.hpp"

#include <algorithm>
#include <limits>

namespace cmm::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Times that differ by less than this share of them are one: far below anything that the model
// knows of a chip, and far above rounding. That a copy ends does not hang on it: an event is a time
// of one copy, and at that very number the copy begins or ends.
constexpr double kSameShare = 1e-12;

// Bytes per second of a copy that shares nothing: from VMEM to itself.
constexpr double kUnshared = 1e18;

// Something that copies share: its rate is filled evenly.
struct Shared {
  double left = 0;    // of its rate
  double weight = 0;  // of the copies whose rate is not settled yet
};

}  // namespace

bool CopyEngine::is_due(double seconds) const { return seconds <= now_ * (1 + kSameShare); }

double CopyEngine::event_of(const Copy& copy, double now) {
  return copy.moving ? now + copy.bytes_left / copy.rate : copy.begin_seconds;
}

int CopyEngine::start(const CopyWork& work) {
  Copy copy;
  copy.bytes_left = work.bytes;
  copy.hbm_ends = work.hbm_ends;
  copy.link = work.link;
  copy.begin_seconds = now_ + work.latency_seconds;
  copies_.push_back(copy);
  const int number = static_cast<int>(copies_.size()) - 1;
  in_flight_.push_back(number);
  if (is_due(copy.begin_seconds)) {
    copies_.back().moving = true;
    rates_are_set_ = false;
  }
  return number;
}

// Fills all rates evenly until something is full, settles the copies that use it, and goes on with
// the rest.
void CopyEngine::set_rates() {
  Shared hbm{rates_.hbm_bytes_per_second, 0};
  std::array<Shared, 2> links = {Shared{rates_.link_bytes_per_second, 0},
                                 Shared{rates_.link_bytes_per_second, 0}};
  const double most = rates_.copy_bytes_per_second > 0 ? rates_.copy_bytes_per_second : kInfinity;
  std::array<int, 64> few;
  std::vector<int> many;
  int num_open = 0;
  const bool are_few = in_flight_.size() <= few.size();
  if (!are_few) many.resize(in_flight_.size());
  int* open = are_few ? few.data() : many.data();
  for (const int number : in_flight_) {
    Copy& copy = copies_[number];
    copy.rate = 0;
    if (!copy.moving) continue;
    open[num_open++] = number;
    hbm.weight += copy.hbm_ends;
    if (copy.link != Link::kNone) links[static_cast<int>(copy.link)].weight += 1;
  }
  double level = 0;
  while (num_open > 0) {
    const auto share = [](const Shared& shared) {
      return shared.weight > 0 ? std::max(shared.left, 0.0) / shared.weight : kInfinity;
    };
    // What is left for the others is never less, but for rounding.
    level = std::max(level, std::min({most, share(hbm), share(links[0]), share(links[1])}));
    if (level == kInfinity) level = kUnshared;
    const double full = level * (1 + 1e-12);
    const std::array<bool, 2> link_is_full = {share(links[0]) <= full, share(links[1]) <= full};
    const bool hbm_is_full = share(hbm) <= full;
    const bool all = level >= std::min(most, kUnshared);
    int still_open = 0;
    for (int i = 0; i < num_open; ++i) {
      Copy& copy = copies_[open[i]];
      const bool on_link = copy.link != Link::kNone;
      const bool settled = all || (copy.hbm_ends > 0 && hbm_is_full) ||
                           (on_link && link_is_full[static_cast<int>(copy.link)]);
      if (!settled) {
        open[still_open++] = open[i];
        continue;
      }
      copy.rate = level;
      hbm.left -= level * copy.hbm_ends;
      hbm.weight -= copy.hbm_ends;
      if (on_link) {
        links[static_cast<int>(copy.link)].left -= level;
        links[static_cast<int>(copy.link)].weight -= 1;
      }
    }
    num_open = still_open;
  }
  rates_are_set_ = true;
}

double CopyEngine::next_event() {
  if (!rates_are_set_) set_rates();
  double next = kInfinity;
  for (const int number : in_flight_) next = std::min(next, event_of(copies_[number], now_));
  return next;
}

bool CopyEngine::move_to(double seconds) {
  const double begin = now_;
  const double passed = seconds - begin;
  std::array<bool, 2> link_is_busy = {false, false};
  bool ended = false;
  std::size_t kept = 0;
  now_ = seconds;
  for (const int number : in_flight_) {
    Copy& copy = copies_[number];
    const double event = event_of(copy, begin);
    if (copy.moving) {
      copy.bytes_left = std::max(copy.bytes_left - copy.rate * passed, 0.0);
      hbm_bytes_ += copy.rate * copy.hbm_ends * passed;
      if (copy.link != Link::kNone) link_is_busy[static_cast<int>(copy.link)] = true;
    }
    if (!is_due(event)) {
      in_flight_[kept++] = number;
      continue;
    }
    rates_are_set_ = false;
    if (copy.moving) {
      copy.done = true;
      copy.end_seconds = now_;
      ended = true;
    } else {
      copy.moving = true;
      in_flight_[kept++] = number;
    }
  }
  in_flight_.resize(kept);
  for (int link = 0; link < 2; ++link) {
    if (link_is_busy[link]) link_seconds_[link] += passed;
  }
  return ended;
}

void CopyEngine::advance_to(double seconds) {
  while (!in_flight_.empty() && now_ < seconds) move_to(std::min(seconds, next_event()));
  now_ = std::max(now_, seconds);
}

bool CopyEngine::advance_to_next_end() {
  while (!in_flight_.empty()) {
    if (move_to(next_event())) return true;
  }
  return false;
}

void CopyEngine::wait(int copy) {
  while (!copies_[copy].done) advance_to_next_end();
}

}  // namespace cmm::sim
