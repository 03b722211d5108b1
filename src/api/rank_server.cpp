#include "cmm/rank_server.hpp"

#include "api/rank_variables.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/mesh.hpp"
#include "transport/shm/meeting.hpp"

namespace cmm {

struct RankServer::State {
  transport::shm::MeetingServer server;
  std::vector<transport::shm::UniqueFd> rank_ends;

  transport::shm::UniqueFd& end_of(int rank) {
    const int num_ranks = static_cast<int>(rank_ends.size());
    if (rank < 0 || rank >= num_ranks) {
      throw Error(ErrorCode::kInvalidArgument, cat("rank ", rank, " of a job of ", num_ranks,
                                                   " ranks; it must be 0 to ", num_ranks - 1));
    }
    return rank_ends[static_cast<std::size_t>(rank)];
  }
};

RankServer::RankServer(int num_ranks) {
  if (num_ranks < 1 || num_ranks > kMaxRanks) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a job of ", num_ranks, " ranks; it must have 1 to ", kMaxRanks));
  }
  state_.reset(new State{transport::shm::MeetingServer({.num_ranks = num_ranks, .token = ""}), {}});
  for (int rank = 0; rank < num_ranks; ++rank) {
    auto [of_server, of_rank] = transport::shm::socket_pair();
    state_->server.add(std::move(of_server), rank);
    state_->rank_ends.push_back(std::move(of_rank));
  }
}

RankServer::RankServer(RankServer&&) noexcept = default;
RankServer& RankServer::operator=(RankServer&&) noexcept = default;
RankServer::~RankServer() = default;

int RankServer::num_ranks() const { return static_cast<int>(state_->rank_ends.size()); }

RankServer::Rank RankServer::rank(int rank) const {
  const int descriptor = state_->end_of(rank).get();
  if (descriptor < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("rank ", rank,
                    " has been started already; its end of the connection is closed "
                    "here"));
  }
  return {.descriptor = descriptor,
          .variables = {{api::kRankVariable, cat(rank)},
                        {api::kNumRanksVariable, cat(num_ranks())},
                        {api::kRankSocketVariable, api::rank_socket_text(descriptor)}}};
}

void RankServer::started(int rank) { state_->end_of(rank).reset(); }

int RankServer::descriptor() const { return state_->server.descriptor(); }
void RankServer::serve() { state_->server.serve(); }
void RankServer::ended(int rank, const std::string& how) {
  state_->end_of(rank);  // checks the number
  state_->server.lose(rank, how);
}

}  // namespace cmm
