// Starts several processes of the tool as the ranks of one job, without a launcher.
#pragma once

#include <string>
#include <vector>

#include "run_tool.hpp"

namespace cmm::cli {

class Ranks {
 public:
  // lines[r]: the command line of rank r.
  explicit Ranks(const std::vector<std::vector<std::string>>& lines) {
    static int job = 0;
    const std::string socket =
        "@cmm_tool_test_" + std::to_string(getpid()) + "_" + std::to_string(++job);
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      pids_.push_back(start_tool(lines[rank], out(rank), err(rank),
                                 {"CMM_SOCKET=" + socket, "CMM_RANK=" + std::to_string(rank),
                                  "CMM_NUM_RANKS=" + std::to_string(lines.size())}));
    }
  }
  Ranks(std::size_t num_ranks, const std::string& line)
      : Ranks(std::vector<std::vector<std::string>>(num_ranks, words_of(line))) {}

  pid_t pid(std::size_t rank) const { return pids_[rank]; }
  std::string err_so_far(std::size_t rank) const { return content_of(err(rank)); }
  // Waits for all.
  std::vector<ToolResult> results() {
    std::vector<ToolResult> all;
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      all.push_back(result_of(pids_[rank], out(rank), err(rank)));
    }
    return all;
  }

 private:
  std::string out(std::size_t rank) const { return scratch_.file("out" + std::to_string(rank)); }
  std::string err(std::size_t rank) const { return scratch_.file("err" + std::to_string(rank)); }

  Scratch scratch_;
  std::vector<pid_t> pids_;
};

// The rule for every success: rank 0 alone prints.
inline std::string output_of(Ranks&& ranks) {
  const std::vector<ToolResult> results = ranks.results();
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].exit_code, 0) << "rank " << rank << "\n" << results[rank].err;
    EXPECT_EQ(results[rank].err, "") << "rank " << rank;
    EXPECT_EQ(results[rank].out.empty(), rank > 0) << "rank " << rank;
  }
  return results[0].out;
}

// And for every refusal that all ranks know of: one line, of rank 0, and one exit code.
inline void expect_all_refuse(Ranks&& ranks, int exit_code, const std::string& part) {
  const std::vector<ToolResult> results = ranks.results();
  expect_refused(results[0], exit_code, part);
  for (std::size_t rank = 1; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].exit_code, exit_code) << "rank " << rank;
    EXPECT_EQ(results[rank].out + results[rank].err, "") << "rank " << rank;
  }
}

}  // namespace cmm::cli
