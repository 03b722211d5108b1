// Copies in flight on one device of a ring of equal devices. They share HBM and links by max-min
// fairness: every copy gets the same rate until something it uses is full.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cmm::sim {

enum class Link { kNone = -1, kForward = 0, kBackward = 1 };

struct CopyWork {
  double bytes = 0;
  double hbm_ends = 0;  // of the copy in this device's HBM: each takes its rate
  Link link = Link::kNone;
  double latency_seconds = 0;  // before the first byte moves
};

struct EngineRates {
  double hbm_bytes_per_second = 0;
  double link_bytes_per_second = 0;  // of each direction
  double copy_bytes_per_second = 0;  // most that one copy can draw; 0: all that is free
};

class CopyEngine {
 public:
  explicit CopyEngine(const EngineRates& rates) : rates_(rates) {}

  double now() const { return now_; }
  int start(const CopyWork& work);
  bool is_done(int copy) const { return copies_[copy].done; }
  double bytes_left(int copy) const { return copies_[copy].bytes_left; }
  double begin_seconds(int copy) const { return copies_[copy].begin_seconds; }
  double end_seconds(int copy) const { return copies_[copy].end_seconds; }  // where done

  void advance_to(double seconds);
  // Time goes on to the next end of a copy, or to `seconds` where that is earlier. False where
  // nothing is in flight.
  bool advance_to_next_end();
  void wait(int copy);

  double hbm_bytes() const { return hbm_bytes_; }  // moved so far
  double link_seconds(Link link) const { return link_seconds_[static_cast<int>(link)]; }

 private:
  struct Copy {
    double bytes_left = 0;
    double hbm_ends = 0;
    Link link = Link::kNone;
    double begin_seconds = 0;  // of its first byte
    double end_seconds = 0;
    double rate = 0;
    bool moving = false;
    bool done = false;
  };

  // When a copy begins, or ends at its rate; no earlier than `now`.
  static double event_of(const Copy& copy, double now);
  bool is_due(double seconds) const;
  void set_rates();
  double next_event();
  // Moves bytes until `seconds`, which is no later than next_event(); where it is that, a copy
  // begins or ends. True where one ends.
  bool move_to(double seconds);

  EngineRates rates_;
  double now_ = 0;
  std::vector<Copy> copies_;
  std::vector<int> in_flight_;
  bool rates_are_set_ = false;
  double hbm_bytes_ = 0;
  std::array<double, 2> link_seconds_ = {0, 0};
};

}  // namespace cmm::sim
