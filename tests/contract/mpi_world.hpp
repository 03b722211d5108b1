// Ranks that are processes of one job of mpiexec: every one of them runs every test, the first ones
// are its ranks, and all compare what lies on the one board.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <stdexcept>
#include <thread>

#include "api/mesh_from_mpi.hpp"
#include "transport/mpi/run_ranks.hpp"
#include "world.hpp"

namespace cmm::contract {

using transport::mpi::meet_all_of;
using transport::mpi::world_rank;
using transport::mpi::world_size;

enum class Hosts { kOne, kOneOfEachRank };

// A file for a board that the processes of the job, all on this machine, have in common.
class BoardFile {
 public:
  BoardFile() {
    int file = -1;
    int source[2] = {getpid(), -1};
    if (world_rank() == 0) {
      file = source[1] = memfd_create("contract", MFD_CLOEXEC);
      if (file < 0 || ftruncate(file, sizeof(Board)) != 0) throw std::runtime_error("no memory");
    }
    MPI_Bcast(source, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (file < 0) {
      const std::string path = cat("/proc/", source[0], "/fd/", source[1]);
      file = open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (file < 0) throw std::runtime_error("no way to " + path);
    }
    file_ = file;
    meet_all_of(MPI_COMM_WORLD);
  }
  BoardFile(const BoardFile&) = delete;
  BoardFile& operator=(const BoardFile&) = delete;
  ~BoardFile() { close(file_); }
  int file() const { return file_; }

 private:
  int file_ = -1;
};

class MpiWorld final : private BoardFile, public World {
 public:
  explicit MpiWorld(Hosts hosts) : World(file()), hosts_(hosts) {
    pids_.resize(static_cast<std::size_t>(world_size()));
    const int pid = getpid();
    MPI_Allgather(&pid, 1, MPI_INT, pids_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  }

  using World::mesh;
  using World::run;
  bool processes() const override { return true; }
  bool hosts_apart() const override { return hosts_ == Hosts::kOneOfEachRank; }

  // `meanwhile` runs in every process, so that it does in one that nobody has stopped.
  void run(int num_ranks, const Body& body, const Extras& extras) override {
    num_ranks_ = num_ranks;
    meet_all_of(MPI_COMM_WORLD);
    std::thread meanwhile(extras.meanwhile);
    if (world_rank() < num_ranks) {
      try {
        body(world_rank());
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << world_rank() << ": " << error.what();
      }
    }
    meanwhile.join();
    meet_all_of(MPI_COMM_WORLD);
    // All go on alike: a body that ends at the first failure does so everywhere.
    const int failed_here = testing::Test::HasFailure() ? 1 : 0;
    int failed = 0;
    MPI_Allreduce(&failed_here, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed > failed_here) ADD_FAILURE() << "on another rank";
  }

  Mesh mesh(int, int rank, const std::vector<AxisSize>& axes) override {
    int num_ranks = 1;
    for (const AxisSize& axis : axes) num_ranks *= axis.size;
    auto config = api::mesh_config(communicator(rank, num_ranks), axes);
    if (hosts_ == Hosts::kOneOfEachRank) config.apart = rank + 1;
    return Mesh(rank, axes, transport::mpi::make_endpoints(config, Deadline(kLimit)));
  }

  void signal(int rank, int number) override {
    ::kill(pids_[static_cast<std::size_t>(rank)], number);
  }

 private:
  // Of the ranks that ask for it together: all, or all but one that failed, whom they find by who
  // has which number. One communicator serves all meshes of the same ranks.
  MPI_Comm communicator(int rank, int num_ranks) {
    std::vector<int> members;
    if (num_ranks == num_ranks_) {
      for (int member = 0; member < num_ranks; ++member) members.push_back(member);
    } else {
      std::atomic<int>(&asked)[kMaxRanks] = board().asked;
      asked[rank].store(world_rank() + 1);
      for (int member = 0; member < num_ranks; ++member) {
        if (!wait_until([&] { return asked[member].load() != 0; })) {
          throw std::runtime_error(cat("rank ", member, " of the survivors does not come"));
        }
        members.push_back(asked[member].load() - 1);
      }
    }
    // Never freed: the process ends soon.
    static std::map<std::vector<int>, MPI_Comm> known;
    const auto found = known.find(members);
    if (found != known.end()) return found->second;
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, num_ranks, members.data(), &some);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return known[members] = comm;
  }

  const Hosts hosts_;
  std::vector<int> pids_;
  int num_ranks_ = world_size();  // of the run
};

}  // namespace cmm::contract
