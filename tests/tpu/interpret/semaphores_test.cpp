// What a wait proves, against all that could have happened.
#include "tpu/interpret/semaphores.hpp"

#include <gtest/gtest.h>

#include "tpu/interpret/random.hpp"

namespace cmm::tpu {
namespace {

// Signals of three devices to a semaphore of device 0, each by someone who may know of others. All
// sets of signals are tried that could have satisfied the waits so far: sets that hold, with each
// signal, all that its sender knew of, and add up to what has been taken. What each of them knows
// of has happened; nothing else is known to have.
class Signals {
 public:
  explicit Signals(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < clocks_.size(); ++i) clocks_[i].assign(clocks_.size(), 0);
    for (std::size_t i = 0; i < clocks_.size(); ++i) clocks_[i][i] = 1;
  }

  void signal() {
    const auto device = static_cast<std::size_t>(1 + random_.below(2));
    const std::size_t other = 3 - device;
    if (random_.coin()) {
      merge(clocks_[device], clocks_[other]);
      ++clocks_[other][other];  // what it does from here on is not known
    }
    Made made{.amount = 1 + random_.below(3),
              .moment = {static_cast<int>(device), clocks_[device][device]},
              .clock = clocks_[device]};
    semaphore_.signal({.amount = made.amount,
                       .clock = std::make_shared<const Clock>(made.clock),
                       .copy = -1,
                       .departure = false});
    signals_.push_back(std::move(made));
    ++clocks_[device][device];
  }

  void wait_and_expect() {
    if (semaphore_.has() == 0) return;
    const std::int64_t amount = 1 + random_.below(semaphore_.has());
    taken_ += amount;
    std::vector<CopyMoments> none;
    semaphore_.take(amount, clocks_[0], {0, clocks_[0][0]}, none);
    merge(known_, known_to_all_sets());
    known_[0] = clocks_[0][0];
    EXPECT_EQ(clocks_[0], known_);
  }

 private:
  struct Made {
    std::int64_t amount = 0;
    Moment moment;
    Clock clock;
  };

  Clock known_to_all_sets() const {
    Clock known(clocks_.size(), kNever);
    for (unsigned set = 0; set < 1u << signals_.size(); ++set) {
      std::int64_t sum = 0;
      bool possible = true;
      Clock knows(clocks_.size(), 0);
      for (std::size_t i = 0; i < signals_.size(); ++i) {
        if ((set >> i & 1) == 0) continue;
        sum += signals_[i].amount;
        merge(knows, signals_[i].clock);
        for (std::size_t j = 0; j < signals_.size(); ++j) {
          const bool implied = signals_[j].moment.known_to(signals_[i].clock);
          possible = possible && (!implied || (set >> j & 1) != 0);
        }
      }
      if (!possible || sum < taken_) continue;
      for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::min(known[i], knows[i]);
    }
    return known;
  }

  Random random_;
  std::vector<Clock> clocks_{3};
  Clock known_{0, 0, 0};
  Semaphore semaphore_;
  std::vector<Made> signals_;
  std::int64_t taken_ = 0;
};

TEST(Semaphore, AWaitProvesWhatAllPossibleSetsOfSignalsKnow) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Signals signals(seed);
    Random random(seed + 1000);
    for (int i = 0; i < 9; ++i) {
      signals.signal();
      if (random.coin()) signals.wait_and_expect();
    }
    signals.wait_and_expect();
  }
}

TEST(Semaphore, CopiesAreCompleteWhenEveryByteOfThemHasBeenTaken) {
  Semaphore semaphore;
  std::vector<CopyMoments> copies(3);
  Clock mine{5, 0, 0};
  const auto start = [&](int copy, std::int64_t bytes, Clock clock) {
    semaphore.promise({.amount = bytes,
                       .clock = std::make_shared<const Clock>(std::move(clock)),
                       .copy = copy,
                       .departure = false});
  };
  start(0, 100, {0, 3, 0});
  start(1, 60, {0, 4, 9});
  semaphore.add_bytes(160);
  EXPECT_EQ(semaphore.outstanding(), 160);

  // Either alone has as many bytes. Copy 1 was started by someone who knew of the start of copy 0:
  // whichever it was, copy 0 has been started.
  semaphore.take(50, mine, {0, 5}, copies);
  EXPECT_EQ(mine, (Clock{5, 3, 0}));
  semaphore.take(50, mine, {0, 5}, copies);
  EXPECT_EQ(mine, (Clock{5, 3, 0}));
  semaphore.take(10, mine, {0, 5}, copies);  // more than copy 0 has
  EXPECT_EQ(mine, (Clock{5, 4, 9}));
  for (const CopyMoments& copy : copies) EXPECT_EQ(copy.arrived.time, kNever);

  start(2, 10, {0, 6, 9});  // one more, which could have brought the bytes of the next wait
  semaphore.add_bytes(10);
  semaphore.take(50, mine, {0, 6}, copies);
  for (const CopyMoments& copy : copies) EXPECT_EQ(copy.arrived.time, kNever);
  semaphore.take(10, mine, {0, 7}, copies);
  for (const CopyMoments& copy : copies) {
    EXPECT_EQ(copy.arrived.time, 7u);
    EXPECT_EQ(copy.departed.time, kNever);
  }
  EXPECT_EQ(mine, (Clock{5, 6, 9}));
  EXPECT_EQ(semaphore.has(), 0);
  EXPECT_EQ(semaphore.outstanding(), 0);
}

// Device 0 waits; devices 1 and 2 signal. Who knows of the wait, or of what it proved, cannot have
// stood in for anybody.
TEST(Semaphore, SaysWhatCouldHaveWeakenedAWait) {
  const auto by = [](Clock clock, int copy = -1) {
    return Contribution{.amount = 1,
                        .clock = std::make_shared<const Clock>(std::move(clock)),
                        .copy = copy,
                        .departure = false};
  };
  Semaphore semaphore;
  std::vector<CopyMoments> copies(2);
  Clock mine{5, 0, 0};
  EXPECT_FALSE(semaphore.could_weaken_waits(by({0, 0, 1})));  // there has been no wait
  semaphore.signal(by({0, 3, 0}));
  semaphore.take(1, mine, {0, 5}, copies);
  EXPECT_FALSE(semaphore.could_weaken_waits(by({0, 4, 0})));  // after the signal that came
  EXPECT_FALSE(semaphore.could_weaken_waits(by({5, 0, 7})));  // after the wait
  EXPECT_TRUE(semaphore.could_weaken_waits(by({4, 2, 7})));

  // What brings bytes could have brought those of a copy that was started before it.
  mine[0] = 6;
  semaphore.promise(by({0, 4, 0}, 0));
  semaphore.add_bytes(1);
  EXPECT_FALSE(semaphore.could_weaken_waits(by({0, 4, 0}, 1)));
  semaphore.take(1, mine, {0, 6}, copies);
  EXPECT_TRUE(semaphore.could_weaken_waits(by({5, 9, 9}, 1)));
  EXPECT_FALSE(semaphore.could_weaken_waits(by({6, 0, 0}, 1)));
}

// A wait that proves nothing new cannot prove less.
TEST(Semaphore, AWaitForWhatIsKnownCannotBeWeakened) {
  Semaphore semaphore;
  std::vector<CopyMoments> none;
  Clock mine{5, 3, 0};
  const auto signal = [&](Clock clock) {
    return Contribution{.amount = 1,
                        .clock = std::make_shared<const Clock>(std::move(clock)),
                        .copy = -1,
                        .departure = false};
  };
  semaphore.signal(signal({0, 3, 0}));
  semaphore.take(1, mine, {0, 5}, none);
  EXPECT_FALSE(semaphore.could_weaken_waits(signal({0, 0, 1})));
}

TEST(Semaphore, ASignalOfNothingProvesNothing) {
  Semaphore semaphore;
  std::vector<CopyMoments> none;
  Clock mine{1, 0};
  semaphore.signal({.amount = 0,
                    .clock = std::make_shared<const Clock>(Clock{0, 4}),
                    .copy = -1,
                    .departure = false});
  semaphore.take(0, mine, {0, 1}, none);
  EXPECT_EQ(mine, (Clock{1, 0}));
}

}  // namespace
}  // namespace cmm::tpu
