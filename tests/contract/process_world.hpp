// Ranks that are processes of this host, forked from the test.
#pragma once

#include <algorithm>

#include "held.hpp"
#include "support/process_ranks.hpp"
#include "support/scratch.hpp"
#include "world.hpp"

namespace cmm::contract {

class ProcessWorld final : public World {
 public:
  ~ProcessWorld() override {
    // Where rank 0 was killed while it listened, the file of the socket stays (as stated).
    if (socket_may_stay_) return;
    EXPECT_TRUE(scratch_.names().empty()) << "something was left behind";
  }

  using World::mesh;
  using World::run;
  bool processes() const override { return true; }

  void run(int num_ranks, const Body& body, const Extras& extras) override {
    test::ProcessRanks ranks;
    ranks_ = &ranks;
    for (int rank = 0; rank < num_ranks; ++rank) ranks.start(body);
    extras.meanwhile();
    const std::vector<test::RankEnd> ends = ranks.wait(kLimit);
    ranks_ = nullptr;
    expect_no_names(name());
    for (int rank = 0; rank < num_ranks; ++rank) {
      const test::RankEnd& end = ends[static_cast<std::size_t>(rank)];
      const bool victim =
          std::find(extras.victims.begin(), extras.victims.end(), rank) != extras.victims.end();
      EXPECT_FALSE(end.late) << "rank " << rank << " hung";
      EXPECT_TRUE(victim || test::ended_well(end))
          << "rank " << rank << ": exit code " << end.exit_code << ", signal " << end.signal << "\n"
          << end.failures;
    }
  }

  ProcessOptions options(int number, int rank, int num_ranks) const {
    // Both kinds of names are used.
    const std::string path = scratch_.file(std::to_string(number));
    return {.socket = number % 2 == 0 ? path : cat("@", name(), "_", number),
            .rank = rank,
            .num_ranks = num_ranks,
            .token = "contract",
            .deadline = kLimit};
  }
  Mesh mesh(int number, int rank, const std::vector<AxisSize>& axes) override {
    int num_ranks = 1;
    for (const AxisSize& axis : axes) num_ranks *= axis.size;
    return Mesh::processes(options(number, rank, num_ranks), axes);
  }

  void signal(int rank, int number) override { ranks_->kill(rank, number); }
  void socket_may_stay() { socket_may_stay_ = true; }

 private:
  std::string name() const { return scratch_.path().filename().string(); }

  test::Scratch scratch_;
  test::ProcessRanks* ranks_ = nullptr;
  bool socket_may_stay_ = false;
};

}  // namespace cmm::contract
