// Ranks that are processes started together, of which this is one.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "history_signal.hpp"
#include "peer_watch.hpp"
#include "world.hpp"

namespace cmm::cli {

struct StartedJob {
  std::string started_by;                                 // for messages
  std::chrono::milliseconds deadline = kDefaultDeadline;  // --deadline-ms
};

class ProcessesWorld : public World {
 public:
  // Collective over the mesh, which has one axis "tp". While the world lives, a rank that is
  // stopped for longer than the deadline ends the process of a neighbour on its machine with
  // kOutsideWorld, and so the job.
  ProcessesWorld(Mesh mesh, StartedJob job);

  std::optional<int> num_started() const override { return mesh_.num_ranks(); }
  std::string_view started_by() const override { return started_by_; }
  RankRange ranks_here(int /*num_ranks*/) const override { return {mesh_.rank(), 1}; }
  const Cores& cores() const override { return cores_; }
  int default_threads(int /*num_ranks*/) const override { return cores_.of_process; }
  std::string_view transport() const override { return axis_.transport_name(); }
  int num_hosts() const override { return axis_.num_hosts(); }
  std::shared_ptr<void> allocate(std::int64_t bytes) override;

  void run(int num_ranks, std::chrono::milliseconds deadline,
           const std::function<void(Rank&)>& body) override;
  std::vector<std::string> gather(const std::string& mine) override;
  int finish(int exit_code) override;
  // Errors that all have are said by rank 0. Of others one rank says the cause at once, rank 0
  // where it can; whoever ends the rest of the job then ends those that still wait their turn.
  int fail(const Failure& failure) override;

 private:
  void watch_neighbour(const std::vector<std::string>& machines,
                       const std::vector<SeenProcess>& processes,
                       std::chrono::milliseconds deadline);

  Mesh mesh_;
  ShownMesh shown_{mesh_};
  Axis axis_;
  std::string started_by_;
  std::chrono::milliseconds patience_;  // between two phases
  Cores cores_;
  std::optional<PeerWatch> watch_;
};

// How long ranks wait for each other when they make the mesh: processes take their time to start.
std::chrono::milliseconds meeting_deadline(std::chrono::milliseconds deadline);

// cmm.mpi where this build has MPI (world_mpi.cpp), else an Error(kUnsupported) that says how to
// get it (world_no_mpi.cpp).
std::unique_ptr<World> make_mpi_world(std::chrono::milliseconds deadline);

// Of the ranks that mpirun started, those that name the same part, in the order of their positions.
struct PartOfRanks {
  int part = -1;  // -1: in none
  int position = 0;
};
// Collective over the ranks that mpirun started: a mesh of the part with one axis "tp", none for a
// rank in none. Only where make_mpi_world() has made the world.
std::optional<Mesh> make_mpi_part(const PartOfRanks& mine);

}  // namespace cmm::cli
