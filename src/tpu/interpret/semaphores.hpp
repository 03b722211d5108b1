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
  Moment made;  // when it was signalled or the copy was started
  std::shared_ptr<const Clock> clock;
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

  // Takes `amount` <= has(), and merges into `clock` what must have happened:
  //
  // A signal must have happened where the others, less those that imply it because they were made
  // by someone who knew of it, do not add up to what has been taken in all. Of a copy the same
  // proves that it has been started. That it is complete is proved only when every byte promised
  // has been taken: until then some other copy may have brought the bytes. For those copies
  // `moments` is set to `now`.
  void take(std::int64_t amount, Clock& clock, Moment now, std::vector<CopyMoments>& copies);

 private:
  struct Entry {
    Contribution contribution;
    bool merged = false;  // its clock; stays until it is known to be complete
  };
  std::int64_t others_than(const Entry& entry) const;

  std::int64_t has_ = 0;
  // Sum of the amounts of entries_, and what has been taken of them. A signal leaves as soon as it
  // is known: its amount is subtracted from both, which may leave `taken_` negative.
  std::int64_t promised_ = 0;
  std::int64_t taken_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace cmm::tpu
