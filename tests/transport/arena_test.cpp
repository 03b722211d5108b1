// The memory that processes share: what is taken, read, refused and given back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <utility>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "limits.hpp"
#include "support/process_ranks.hpp"
#include "transport/shm/arena.hpp"

namespace cmm::transport::shm {
namespace {

using test::kSanitized;
using test::ProcessRanks;
using test::set_limit;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::chrono::milliseconds kLimit{60'000};
constexpr int kNoMount = 77;  // exit code of a process that could not do what its test needs

TEST(PageRanges, TakesAndGivesBackWhatAMapOfPagesSays) {
  constexpr std::int64_t kPages = 200;
  PageRanges ranges(kPages);
  std::vector<bool> taken(kPages);
  std::vector<std::pair<std::int64_t, std::int64_t>> held;
  std::mt19937 random(1);
  for (int step = 0; step < 20'000; ++step) {
    const std::int64_t wanted = 1 + static_cast<std::int64_t>(random() % 20);
    if (random() % 2 == 0) {
      const std::int64_t first = ranges.take(wanted);
      if (first < 0) {
        ASSERT_LT(ranges.largest(), wanted);
        continue;
      }
      for (std::int64_t page = first; page < first + wanted; ++page) {
        ASSERT_FALSE(taken[static_cast<std::size_t>(page)]);
        taken[static_cast<std::size_t>(page)] = true;
      }
      held.emplace_back(first, wanted);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [first, count] = held.back();
      held.pop_back();
      ranges.give_back(first, count);
      std::fill_n(taken.begin() + first, count, false);
    }
    // Free ranges that touch are one.
    std::int64_t num_free_runs = 0;
    for (std::size_t page = 0; page < taken.size(); ++page) {
      num_free_runs += !taken[page] && (page == 0 || taken[page - 1]);
    }
    ASSERT_EQ(ranges.num_ranges(), num_free_runs);
  }
  for (const auto& [first, count] : held) ranges.give_back(first, count);
  EXPECT_EQ(ranges.take(kPages), 0);
  EXPECT_EQ(ranges.take(1), -1);
}

// Both ranks of one arena in this process: each maps the same file.
class ArenaOfTwo : public testing::Test {
 protected:
  ArenaOfTwo() : file_(memfd_create("cmm_test", MFD_CLOEXEC)) {}

  std::unique_ptr<Arena> arena(int rank, std::int64_t region_bytes = 16 * kMiB) {
    AddressRange range({.num_ranks = 2, .control_bytes = 10'000});
    return std::make_unique<Arena>(
        Arena::Config{.memory = UniqueFd(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0)),
                      .rank = rank,
                      .processes = {this_process(), process_of(peer_pid_)},
                      .control_bytes = 10'000,
                      .region_bytes = std::min(region_bytes, range.region_bytes()),
                      .present_memory = present_memory_},
        std::move(range));
  }
  std::int64_t bytes_in_use() const {
    struct stat status = {};
    fstat(file_.get(), &status);
    return status.st_blocks * 512;
  }

  UniqueFd file_;
  std::int64_t peer_pid_ = getpid();
  std::int64_t (*present_memory_)() = present_memory_bytes;
};

TEST_F(ArenaOfTwo, APeerReadsWhatARankWrites) {
  const auto writer = arena(0), reader = arena(1);
  std::byte* const data = writer->allocate(100'000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
  std::memset(data, 7, 100'000);
  const std::int64_t address = writer->address(data, 100'000);
  ASSERT_GE(address, 0);
  const std::byte* const seen = reader->at(0, address, 100'000);
  ASSERT_NE(seen, nullptr);
  EXPECT_NE(seen, data);
  EXPECT_EQ(seen[0], std::byte{7});
  EXPECT_EQ(seen[99'999], std::byte{7});
  writer->control()[17] = std::byte{3};
  EXPECT_EQ(reader->control()[17], std::byte{3});
  reader->control()[18] = std::byte{4};
  EXPECT_EQ(writer->control()[18], std::byte{4});
}

TEST_F(ArenaOfTwo, WhatIsFreedGoesBackToTheSystemAndComesAgainZeroed) {
  const auto mine = arena(0);
  const std::int64_t before = bytes_in_use();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 8; ++i) {
      blocks.push_back(mine->allocate(kMiB + 1));
      EXPECT_TRUE(std::all_of(blocks.back(), blocks.back() + kMiB + 1,
                              [](std::byte b) { return b == std::byte{0}; }));
      std::memset(blocks.back(), 5, kMiB + 1);
    }
    EXPECT_GE(bytes_in_use() - before, 8 * kMiB);
    for (std::byte* block : blocks) mine->deallocate(block, kMiB + 1);
    EXPECT_EQ(bytes_in_use(), before);
  }
}

TEST_F(ArenaOfTwo, AddressesOutsideARegionAreRefused) {
  const auto mine = arena(0), peer = arena(1);
  const std::int64_t region = 16 * kMiB;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(mine->at(1, 0, region), nullptr);
  EXPECT_NE(mine->at(1, region, 0), nullptr);
  EXPECT_EQ(mine->at(1, 1, region), nullptr);
  EXPECT_EQ(mine->at(1, region, 1), nullptr);
  EXPECT_EQ(mine->at(1, -1, 1), nullptr);
  EXPECT_EQ(mine->at(1, 0, -1), nullptr);
  EXPECT_EQ(mine->at(1, kMost, 1), nullptr);
  EXPECT_EQ(mine->at(1, 1, kMost), nullptr);
  EXPECT_EQ(mine->at(2, 0, 1), nullptr);
  EXPECT_EQ(mine->at(-1, 0, 1), nullptr);

  std::byte* const data = mine->allocate(64);
  int on_stack = 0;
  EXPECT_EQ(mine->address(reinterpret_cast<std::byte*>(&on_stack), 4), -1);
  EXPECT_EQ(mine->address(nullptr, 4), -1);
  EXPECT_EQ(mine->address(mine->control(), 4), -1);
  EXPECT_EQ(mine->address(mine->at(1, 0, 64), 64), -1);  // a peer's memory is not ours to tell of
  EXPECT_EQ(mine->address(data, kMost), -1);
  EXPECT_EQ(mine->address(data, -1), -1);
  EXPECT_EQ(peer->address(data, 64), -1);
}

TEST_F(ArenaOfTwo, APeersRegionCannotBeWritten) {
  const auto mine = arena(0);
  ProcessRanks ranks;
  ranks.start([&](int) {
    if (!kSanitized) signal(SIGSEGV, SIG_DFL);
    // As MADV_DONTFORK keeps it from a child, the child maps it anew.
    const auto child = arena(0);
    const_cast<std::byte&>(*child->at(1, 0, 1)) = std::byte{1};
  });
  const auto ends = ranks.wait(kLimit);
  EXPECT_FALSE(test::ended_well(ends[0]));
  if (!kSanitized) {
    EXPECT_EQ(ends[0].signal, SIGSEGV);
  }
}

TEST_F(ArenaOfTwo, MoreThanTheRegionIsRefusedWithBothNumbers) {
  const auto mine = arena(0);
  const auto text_of = [&](std::int64_t bytes) -> std::string {
    try {
      mine->allocate(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text_of(17 * kMiB).find("has 16777216 bytes"), std::string::npos);
  std::byte* const most = mine->allocate(12 * kMiB);
  const std::string text = text_of(5 * kMiB);
  EXPECT_NE(text.find("5242880 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("4194304"), std::string::npos) << text;
  mine->deallocate(most, 12 * kMiB);
  EXPECT_EQ(text_of(16 * kMiB), "");
}

TEST_F(ArenaOfTwo, AForkedProcessIsToldApart) {
  const auto mine = arena(0);
  EXPECT_TRUE(mine->owned_by_this_process());
  test::run_processes(1, [&](int) {
    EXPECT_FALSE(mine->owned_by_this_process());
    EXPECT_THROW(mine->allocate(1), Error);
  });
  EXPECT_TRUE(mine->owned_by_this_process());
}

// What the arena is told of the memory that is present, and what else happens at its next look.
struct Present {
  std::int64_t bytes = 0;
  std::function<void()> then = [] {};
  int num_looks = 0;
};
Present told;

std::int64_t told_bytes() {
  ++told.num_looks;
  const std::int64_t bytes = told.bytes;
  std::exchange(told.then, [] {})();
  return bytes;
}

std::string refusal_of(Arena& arena, std::int64_t bytes) {
  try {
    arena.deallocate(arena.allocate(bytes), bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    return error.what();
  }
  return "";
}

class WeighedArena : public ArenaOfTwo {
 protected:
  WeighedArena() {
    told = {.bytes = 1024 * kMiB};
    present_memory_ = told_bytes;
  }
};

TEST_F(WeighedArena, RanksThatAskAtOnceAreWeighedTogether) {
  const auto first = arena(0), second = arena(1);
  told.bytes = 20 * kMiB;
  std::string refused;
  told.then = [&] { refused = refusal_of(*second, 12 * kMiB); };
  EXPECT_EQ(refusal_of(*first, 12 * kMiB), "");
  EXPECT_NE(refused.find(cat(12 * kMiB, " bytes of shared memory are needed and ", 20 * kMiB,
                             " are present, of which ", 12 * kMiB, " go to other ranks")),
            std::string::npos)
      << refused;
  // Neither what was taken nor what was refused is counted any more.
  EXPECT_EQ(refusal_of(*second, 12 * kMiB), "");
  EXPECT_EQ(refusal_of(*first, 12 * kMiB), "");
}

TEST_F(WeighedArena, SmallRequestsAreWeighedBesideALargeOne) {
  const auto first = arena(0), second = arena(1);
  told.bytes = 4 * kMiB;
  std::string refused;
  told.then = [&] { refused = refusal_of(*second, kMiB / 2); };
  EXPECT_EQ(refusal_of(*first, 3 * kMiB + kMiB / 2), "");
  EXPECT_NE(refused, "");
}

TEST_F(WeighedArena, ManySmallRequestsAreWeighed) {
  const auto first = arena(0), second = arena(1);
  told.bytes = 0;
  std::int64_t taken = 0;
  const auto take = [&](Arena& arena) {
    for (;; taken += 4096) {
      try {
        arena.allocate(4096);
      } catch (const Error&) {
        return;
      }
      ASSERT_LE(taken, kMiB);
    }
  };
  take(*first);
  take(*second);  // what one has taken counts for all
  take(*first);
  EXPECT_EQ(taken, kMiB - 4096);
}

TEST_F(WeighedArena, SomeIsLeftToOthers) {
  const auto mine = arena(0);
  told.bytes = 10 * kMiB;
  EXPECT_NE(refusal_of(*mine, 10 * kMiB - kMiB / 4), "");
  EXPECT_EQ(refusal_of(*mine, 9 * kMiB), "");
}

std::int64_t resident_shared_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "RssShmem:") {
  }
  std::int64_t kilobytes = 0;
  status >> kilobytes;
  return kilobytes * 1024;
}

TEST_F(WeighedArena, IsWeighedAtEachStepAndGivesBackWhatItTook) {
  const auto mine = arena(0, 256 * kMiB);
  if (refusal_of(*mine, 80 * kMiB) != "") GTEST_SKIP() << "not even 80 MiB of addresses";
  const std::int64_t before = bytes_in_use(), resident = resident_shared_bytes();
  std::int64_t taken = 0, counted = 0;
  told.then = [&] {
    told.bytes = 8 * kMiB;  // others have taken the rest
    told.then = [&] {
      taken = bytes_in_use() - before;
      counted = resident_shared_bytes() - resident;
    };
  };
  told.num_looks = 0;
  const std::string text = refusal_of(*mine, 80 * kMiB);
  EXPECT_NE(text.find(cat(80 * kMiB, " bytes of shared memory are needed and ", 72 * kMiB)),
            std::string::npos)
      << text;
  EXPECT_EQ(told.num_looks, 2);
  EXPECT_EQ(taken, 64 * kMiB);
  // Of this process, not of nobody. The kernel counts in batches for each core.
  EXPECT_GE(counted, taken - kMiB);
  EXPECT_EQ(bytes_in_use(), before);
}

TEST_F(WeighedArena, WhatAKilledRankHadAnnouncedIsForgotten) {
  ProcessRanks ranks;
  ranks.start([&](int) {
    const auto killed = arena(1);
    told.then = [] { _exit(0); };
    killed->allocate(12 * kMiB);
  });
  peer_pid_ = ranks.pid(0);
  EXPECT_TRUE(test::ended_well(ranks.wait(kLimit)[0]));
  const auto mine = arena(0);
  told.bytes = 20 * kMiB;
  EXPECT_EQ(refusal_of(*mine, 12 * kMiB), "");
}

TEST(Arena, AFullFileSystemIsAnErrorWithBothNumbersAndLeavesNothingTaken) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount a file system of 1 MiB";
  ProcessRanks ranks;
  ranks.start([](int) {
    std::string folder = (std::filesystem::temp_directory_path() / "cmm_full_XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    // Of this process alone: gone with it.
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("cmm_test", folder.c_str(), "tmpfs", 0, "size=1m") != 0) {
      std::filesystem::remove(folder);
      _exit(kNoMount);
    }
    {
      UniqueFd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
      ASSERT_TRUE(file);
      AddressRange range({.num_ranks = 1, .control_bytes = 4096});
      const std::int64_t region = range.region_bytes();
      Arena mine({.memory = std::move(file),
                  .rank = 0,
                  .processes = {this_process()},
                  .control_bytes = 4096,
                  .region_bytes = region},
                 std::move(range));
      const std::int64_t left = kMiB - 2 * 4096;  // the arena has words of its own
      for (int round = 0; round < 3; ++round) {
        try {
          mine.allocate(3 * kMiB);
          ADD_FAILURE() << "3 MiB fit into 1 MiB";
        } catch (const Error& error) {
          const std::string text = error.what();
          EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
          EXPECT_NE(text.find("3145728 bytes"), std::string::npos) << text;
          EXPECT_NE(text.find(cat(left, " are present")), std::string::npos) << text;
          EXPECT_NE(text.find("No space left"), std::string::npos) << text;
        }
      }
      std::byte* const rest = mine.allocate(left);
      std::memset(rest, 1, static_cast<std::size_t>(left));
    }
    umount(folder.c_str());
    std::filesystem::remove(folder);
  });
  const test::RankEnd end = ranks.wait(kLimit)[0];
  if (end.exit_code == kNoMount) GTEST_SKIP() << "this system refuses a mount to root";
  EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

std::int64_t mapped_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

std::string refusal(const AddressRange::Limits& limits) {
  try {
    const AddressRange range(limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    return error.what();
  }
  return "";
}

TEST(AddressRange, FitsIntoWhatTheProcessMayMap) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer maps more than any limit";
  test::run_processes(1, [](int) {
    const AddressRange free({.num_ranks = 4, .control_bytes = 4096});
    EXPECT_GE(free.region_bytes(), 1024 * kMiB);
    set_limit(RLIMIT_AS, mapped_bytes() + 1024 * kMiB);
    {
      const AddressRange less({.num_ranks = 4, .control_bytes = 4096});
      EXPECT_EQ(less.region_bytes(), 32 * kMiB);  // a quarter of what is left, in four
    }
    set_limit(RLIMIT_AS, mapped_bytes() + 8 * kMiB);
    const std::string text = refusal({.num_ranks = 4, .control_bytes = 4096});
    EXPECT_NE(text.find("ulimit -v"), std::string::npos) << text;
    EXPECT_NE(text.find(cat(4 * kMiB + 2 * 4096)), std::string::npos) << text;
  });
}

TEST(AddressRange, FitsIntoWhatAFileMayHold) {
  test::run_processes(1, [](int) {
    set_limit(RLIMIT_FSIZE, 100 * kMiB);
    EXPECT_EQ(AddressRange({.num_ranks = 2, .control_bytes = 4096}).region_bytes(), 32 * kMiB);
    set_limit(RLIMIT_FSIZE, kMiB);
    const std::string text = refusal({.num_ranks = 2, .control_bytes = 4096});
    EXPECT_NE(text.find("ulimit -f"), std::string::npos) << text;
  });
}

}  // namespace
}  // namespace cmm::transport::shm
