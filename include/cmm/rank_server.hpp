// For programs that start ranks: the server at which the processes of one job become a mesh.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmm {

// Each rank inherits one end of a connection; in its environment it finds which. The ranks can then
// make any number of meshes (Mesh::from_environment), one after the other, as long as the server is
// served. What a launcher does:
//
//   RankServer server(num_ranks);
//   for each rank:  fork; in the child let server.rank(r).descriptor survive exec (it is closed by
//                   exec unless FD_CLOEXEC is cleared), add server.rank(r).variables to the
//                   environment, exec; in the launcher server.started(r)
//   loop:           poll server.descriptor() for reading, together with whatever else is waited
//                   for; then server.serve()
//   a rank ended:   server.ended(r, "was killed by signal 9")
//
// Not for several threads at once.
class RankServer {
 public:
  // Throws Error(kInvalidArgument) unless 1 <= num_ranks <= kMaxRanks, Error(kOutOfMemory) where
  // this process may not have 2 * num_ranks + 4 more descriptors.
  explicit RankServer(int num_ranks);
  RankServer(RankServer&&) noexcept;
  RankServer& operator=(RankServer&&) noexcept;
  ~RankServer();  // ranks that wait for a mesh get Error(kPeerFailed)

  int num_ranks() const;

  struct Rank {
    int descriptor = -1;  // the rank's end; belongs to the server until started()
    std::vector<std::pair<std::string, std::string>> variables;
  };
  // Until started(rank). This and the other functions of a rank throw Error(kInvalidArgument) where
  // the job has no such rank; this one also where it has been started.
  Rank rank(int rank) const;
  // The rank has its end: the server's copy is closed, so that the end of the rank is seen.
  void started(int rank);

  // Readable when there is something to serve. Level-triggered; stays the same.
  int descriptor() const;
  // Answers what ranks have asked for. Never blocks, never throws for what a rank does.
  void serve();
  // The rank makes no more meshes; ranks that wait for it get Error(kPeerFailed) with `how`, which
  // completes "rank 2 ...".
  void ended(int rank, const std::string& how);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cmm
