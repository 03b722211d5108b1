// The ranks of a test, be they threads or processes, and what they tell of how it went. The bodies
// of the contract (faults.hpp, ...) are written once over this.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/deadline.hpp"
#include "base/text.hpp"
#include "cmm/cmm.hpp"

namespace cmm::contract {

using namespace std::chrono_literals;

inline constexpr int kMaxRanks = 16;
// What a call may take beyond its deadline. 100 ms on an idle machine; the tests run beside others,
// and ranks that are held up for seconds have done nothing wrong. In all mishaps of a program they
// are not: the quickest return tells how long the library itself takes.
inline constexpr std::chrono::milliseconds kGrace{20'000};
inline constexpr double kLeastGraceSeconds = 0.5;
// Nothing in a test takes so long, unless it hangs.
inline constexpr std::chrono::milliseconds kLimit{60'000};

// How an operation of a rank ended. Plain data, so that it can lie in memory of several processes.
struct Outcome {
  static constexpr int kReturned = -1;
  std::atomic<int> ended{0};  // 1: the rest is valid
  int code = kReturned;       // else an ErrorCode
  int at_fault = -1;
  double seconds = 0;
  char text[3000] = {};

  // Runs `operation` and keeps how it ended.
  void of(const std::function<void()>& operation) {
    const std::int64_t begin_ns = now_ns();
    try {
      operation();
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
      at_fault = error.rank();
      keep(error.what());
    } catch (const std::exception& error) {
      code = kMaxCode;
      keep(error.what());
    }
    seconds = 1e-9 * static_cast<double>(now_ns() - begin_ns);
    ended.store(1, std::memory_order_release);
  }
  std::string words() const {
    if (ended.load(std::memory_order_acquire) == 0) return "has not ended";
    if (code == kReturned) return "returned";
    if (code == kMaxCode) return cat("exception: ", text);
    return cat(error_code_name(static_cast<ErrorCode>(code)), " of rank ", at_fault, ": ", text);
  }

  static constexpr int kMaxCode = 100;  // an exception that is no Error

 private:
  void keep(const char* what) {
    std::strncpy(text, what, sizeof text - 1);
    text[sizeof text - 1] = '\0';
  }
};

// What all ranks of a test see. Zero at the start.
struct Board {
  std::atomic<int> counts[16];  // for a test to use as it likes
  Outcome outcomes[kMaxRanks];
  Outcome later[kMaxRanks];  // of a second operation
  // For MpiWorld: by rank of a mesh of some of the ranks, the number of its process + 1.
  std::atomic<int> asked[kMaxRanks];
};

// Memory that stays shared across fork(); or that of a file, zero and large enough, for processes
// that open it themselves.
class SharedBoard {
 public:
  SharedBoard() : SharedBoard(-1) {}
  explicit SharedBoard(int file) {
    const int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0);
    void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, flags, file, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    board_ = new (at) Board{};
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  ~SharedBoard() { munmap(board_, sizeof(Board)); }
  Board& operator*() const { return *board_; }

 private:
  Board* board_;
};

// True once it has happened, false after kLimit.
inline bool wait_until(const std::function<bool()>& happened) {
  const Deadline deadline(kLimit);
  for (Backoff backoff; !happened(); backoff.pause()) {
    if (deadline.expired()) return false;
  }
  return true;
}

// One test's ranks; a new object for each test.
class World {
 public:
  World() = default;
  virtual ~World() = default;
  virtual bool processes() const = 0;
  // Each rank is for the others on another host: whether a silent one lives is not known, and
  // several that fail at the same moment, at the end of a deadline, may each report their own
  // cause.
  virtual bool hosts_apart() const { return false; }
  const char* silence() const {
    return hosts_apart() ? "on another host and silent" : "silent, not dead";
  }

  // Runs body(rank) on each rank and returns when all have ended. `meanwhile` runs in the test
  // itself. Ranks that are killed on purpose are named in `victims`.
  using Body = std::function<void(int rank)>;
  struct Extras {
    std::function<void()> meanwhile = [] {};
    std::vector<int> victims = {};
  };
  virtual void run(int num_ranks, const Body& body, const Extras& extras) = 0;
  void run(int num_ranks, const Body& body) { run(num_ranks, body, Extras()); }

  // By the ranks: the mesh of this number; each rank asks for it once.
  virtual Mesh mesh(int number, int rank, const std::vector<AxisSize>& axes) = 0;
  Mesh mesh(int number, int rank, int num_ranks) { return mesh(number, rank, {{"tp", num_ranks}}); }

  // By the test: a signal to a rank's process. Nothing where ranks are threads.
  virtual void signal(int rank, int number) = 0;

  Board& board() { return *board_; }

 protected:
  explicit World(int file) : board_(file) {}  // of the board

 private:
  SharedBoard board_;
};

// How long after a mishap, or after the deadline, the last survivor returned: the least of all
// cases.
class Lateness : public testing::Environment {
 public:
  void add(ErrorCode code, double seconds) {
    Least& least = least_[code];
    ++least.num_cases;
    least.seconds = std::min(least.seconds, seconds);
  }
  void TearDown() override {
    for (const auto& [code, least] : least_) {
      if (least.num_cases < kEnoughCases) continue;
      EXPECT_LT(least.seconds, kLeastGraceSeconds) << "in all cases of " << error_code_name(code);
    }
  }

 private:
  static constexpr int kEnoughCases = 10;
  struct Least {
    int num_cases = 0;
    double seconds = std::numeric_limits<double>::infinity();
  };
  std::map<ErrorCode, Least> least_;
};
inline auto& lateness =
    *static_cast<Lateness*>(testing::AddGlobalTestEnvironment(new Lateness));  // gtest owns it

// The cause as those ranks report it that were not at fault: alike on all, naming `victim`.
inline void expect_shared_cause(const World& world, const std::vector<const Outcome*>& survivors,
                                ErrorCode code, int victim, std::chrono::milliseconds limit) {
  double last_seconds = 0;
  for (const Outcome* outcome : survivors) {
    ASSERT_EQ(outcome->ended.load(), 1) << "a survivor never returned";
    last_seconds = std::max(last_seconds, outcome->seconds);
    EXPECT_EQ(outcome->code, static_cast<int>(code)) << outcome->words();
    EXPECT_EQ(outcome->at_fault, victim) << outcome->words();
    if (!world.hosts_apart() || code != ErrorCode::kDeadline) {
      EXPECT_STREQ(outcome->text, survivors[0]->text);
    }
    EXPECT_LT(outcome->seconds, 1e-3 * static_cast<double>((limit + kGrace).count()))
        << outcome->words();
  }
  lateness.add(code, last_seconds - 1e-3 * static_cast<double>(limit.count()));
}

}  // namespace cmm::contract
