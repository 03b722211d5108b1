// One semaphore of one device: its count, and what a wait for it proves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tpu/interpret/ordering.hpp"

namespace cmm::tpu {

// Who has added to a semaphore, or is going to: a signal adds at once, a copy from its start on.
struct Contribution {
  std::int64_t amount = 0;
  std::shared_ptr<const Clock> clock;  // when it was signalled or the copy was started
  // The copy, and which end of it counts here; -1: a signal.
  int copy = -1;
  bool departure = false;
};

class Semaphore {
 public:
  std::int64_t has() const { return has_; }
  // Bytes of copies started on it that have not been taken by waits.
  std::int64_t outstanding() const { return promised_ - taken_; }

  void promise(Contribution contribution);               // a copy has been started on it
  void add_bytes(std::int64_t bytes) { has_ += bytes; }  // a part of a copy has been moved
  void signal(Contribution contribution);

  // Takes `amount` <= has(), and adds to `clock` what must have happened by now.
  //
  // Several sets of contributions may add up to what has been taken in all. What has happened is
  // what every such set knows of: of device d the time t, if those that know less of d than t are
  // not enough. (A contribution that is made knowing of another knows at least as much: leaving out
  // those that know t leaves a set that could be.)
  //
  // That a copy is complete, not only started, is proved when every byte promised has been taken:
  // until then some other copy may have brought the bytes. For those copies `moments` is set to
  // `now`.
  void take(std::int64_t amount, Clock& clock, Moment now, std::vector<CopyMoments>& copies);

  // Whether a contribution that is about to be promised could, in another run, come before a wait
  // that has been passed here, and that wait would then prove less. It could not where it is made
  // knowing that the wait has been passed, or all that the wait has proved; but beside copies that
  // were proved to be complete its bytes could stand for theirs.
  bool could_weaken_waits(const Contribution& contribution) const;

  // Which of the waits of its call was the last one that was trusted, from 1.
  int last_trusted() const { return last_trusted_; }

  // The first waits of each call prove nothing, and cannot prove less.
  void distrust(int num_waits) { num_distrusted_ = num_waits; }
  void begin_call() { num_waits_ = 0; }

 private:
  Time proven_time(std::size_t device) const;
  void learn(Clock& clock, std::size_t device, Time time);

  std::int64_t has_ = 0;
  // Sum of the amounts of contributions_, and what has been taken of them. A signal leaves when all
  // that it knows is known: its amount is subtracted from both, which may leave taken_ negative.
  std::int64_t promised_ = 0;
  std::int64_t taken_ = 0;
  std::vector<Contribution> contributions_;

  int num_distrusted_ = 0, num_waits_ = 0;  // of each call, of this one
  int last_trusted_ = 0;
  Moment last_wait_, last_completion_;  // of waits passed; the last one that completed copies
  Clock learned_;                       // what waits have proved that was not known before
};

}  // namespace cmm::tpu
