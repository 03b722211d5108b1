// The ring of a rank's last operations: what it shows, that it wraps, that it may be read while it
// is written.
#include "transport/history.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "base/text.hpp"

namespace cmm::transport {
namespace {

using Kind = History::Kind;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
// Times replaced by T.
std::string timeless(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9]+\\.[0-9]{3} ms"), "T");
}
void one_call(History& history, std::uint64_t call) {
  history.begin({.kind = Kind::kMultiply, .plan = 1, .m = 64, .num_chunks = 4});
  history.called(call);
  history.end(false);
}

TEST(History, ShowsEachStateOfAnOperation) {
  History history;
  EXPECT_EQ(history.text("rank 2"), "rank 2: 0 operations\n");
  EXPECT_EQ(history.recent(2), "");

  history.begin({.kind = Kind::kPlan, .m = 64});
  history.planned(1);
  history.end(false);
  history.begin({.kind = Kind::kBarrier});
  history.waiting_for(0);
  history.end(false);
  history.begin({.kind = Kind::kMultiply, .plan = 1, .m = 64, .num_chunks = 4});
  history.called(1);
  history.arrived(2);
  history.waiting_for(3);
  EXPECT_EQ(timeless(history.text("rank 2")),
            "rank 2: 3 operations\n"
            "  #1 Plan::make of plan 1, m=64: done in T\n"
            "  #2 barrier: done in T\n"
            "  #3 all_gather_matmul, call 1 of plan 1, m=64: going on for T, 2 of 4 chunks "
            "arrived, waits for rank 3\n");

  history.arrived(4);
  history.waiting_for(-1);
  history.multiplied();
  EXPECT_EQ(timeless(lines_of(history.text("rank 2")).back()),
            "  #3 all_gather_matmul, call 1 of plan 1, m=64: going on for T, 4 of 4 chunks "
            "arrived, multiplied, not yet read by all");
  history.waiting_for(0);
  history.end(true);
  EXPECT_EQ(timeless(lines_of(history.text("rank 2")).back()),
            "  #3 all_gather_matmul, call 1 of plan 1, m=64: failed after T, 4 of 4 chunks "
            "arrived, waited for rank 0");

  history.begin({.kind = Kind::kGather, .plan = 2, .m = 5, .num_chunks = 1});
  history.called(7);
  history.end(false);
  history.begin({.kind = Kind::kExchange});
  EXPECT_EQ(timeless(history.recent(2)),
            "; last operations of rank 2: #3 all_gather_matmul, call 1 of plan 1, m=64: failed "
            "after T, 4 of 4 chunks arrived, waited for rank 0; #4 all_gather, call 7 of plan 2, "
            "m=5: done in T; #5 exchange: going on for T");
}

TEST(History, KeepsTheLast64) {
  History history;
  for (std::uint64_t call = 1; call <= 1000; ++call) one_call(history, call);
  const std::vector<std::string> lines = lines_of(history.text("rank 0"));
  ASSERT_EQ(lines.size(), 65u);
  EXPECT_EQ(lines[0], "rank 0: 1000 operations, the last 64 of them");
  EXPECT_NE(lines[1].find("#937 all_gather_matmul, call 937 of"), std::string::npos) << lines[1];
  EXPECT_NE(lines[64].find("#1000 all_gather_matmul, call 1000 of"), std::string::npos);
}

TEST(History, IsWrittenToADescriptorAsItIsToText) {
  History history;
  for (std::uint64_t call = 1; call <= 3; ++call) one_call(history, call);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  errno = 12345;
  history.write(ends[1], "rank 1 of axis 'tp'");
  EXPECT_EQ(errno, 12345);
  close(ends[1]);
  char bytes[4096];
  const ssize_t length = read(ends[0], bytes, sizeof bytes);
  close(ends[0]);
  EXPECT_EQ(std::string(bytes, static_cast<std::size_t>(std::max<ssize_t>(length, 0))),
            history.text("rank 1 of axis 'tp'"));
  history.write(-1, "to no descriptor");  // returns
}

// A long owner and numbers as large as they get: cut, never past the end.
TEST(History, CutsWhatIsTooLong) {
  History history;
  history.begin({.kind = Kind::kMultiply,
                 .plan = -1'000'000'000,
                 .m = std::numeric_limits<std::int64_t>::min(),
                 .num_chunks = 2'000'000'000});
  history.called(std::numeric_limits<std::uint64_t>::max());
  history.arrived(2'000'000'000);
  history.waiting_for(2'000'000'000);
  const std::vector<std::string> lines = lines_of(history.text(std::string(1000, 'x')));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], std::string(256, 'x'));
  EXPECT_NE(lines[1].find("m=-9223372036854775808"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("call 18446744073709551615"), std::string::npos) << lines[1];
}

// Every line that a reader gets is of one operation: call and m are equal in each. The writer goes
// on until the reader has seen enough.
TEST(History, MayBeReadWhileItIsWritten) {
  History history;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t call = 1; !done.load(std::memory_order_relaxed); ++call) {
      history.begin({.kind = Kind::kGather, .plan = 1, .m = static_cast<std::int64_t>(call)});
      history.called(call);
      history.end(false);
    }
  });
  // `called` follows `begin`, so a line may show call 0.
  const std::regex line("  #([0-9]+) all_gather, call (0|\\1) of plan 1, m=\\1: .*");
  for (int num_lines = 0; num_lines < 2000 && !HasFailure();) {
    const std::vector<std::string> lines = lines_of(history.text("rank 0"));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      EXPECT_TRUE(std::regex_match(lines[i], line)) << lines[i];
      ++num_lines;
    }
  }
  done.store(true);
  writer.join();
}

}  // namespace
}  // namespace cmm::transport
