// A rank of mpirun's that gathers again and again until a call throws, and notes what it threw.
// usage: gather_until_error FOLDER   FOLDER/calling.RANK appears once a call has ended well, and
// FOLDER/error.RANK in the end, with the seconds of the call that threw, its code, the rank at
// fault and the text.
//
// It ends when all ranks have noted theirs, since mpirun ends a job of which a rank has ended.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "cmm/cmm.hpp"
#include "cmm/mpi.hpp"

namespace {

constexpr std::chrono::milliseconds kDeadline{2000};
constexpr double kLongestStay = 30;  // seconds for the others to note theirs

void await_all(const std::string& begin, int num_ranks) {
  const double start = cmm::wall_seconds();
  for (int rank = 0; rank < num_ranks && cmm::wall_seconds() - start < kLongestStay;) {
    if (std::filesystem::exists(begin + std::to_string(rank))) {
      ++rank;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int num_ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const std::string folder = argv[1];
  const cmm::Mesh mesh = cmm::mesh_from_mpi(MPI_COMM_WORLD, {{"tp", num_ranks}});
  // Long enough on a link of 1 Gbit/s that nearly all time passes inside a call.
  constexpr std::int64_t kRows = 256, kCols = 4096;
  const cmm::Plan plan = cmm::Plan::make(mesh.axis("tp"), {.m = kRows, .k = kCols, .n_local = {1}},
                                         {.deadline = kDeadline});
  const std::int64_t own_rows = plan.rows_of(mesh.rank(), kRows);
  const std::vector<float> x(static_cast<std::size_t>(own_rows * kCols), 1);
  std::vector<float> gathered(static_cast<std::size_t>(kRows * kCols));
  const std::string rank = std::to_string(mesh.rank());
  double begin = 0;
  try {
    for (;;) {
      begin = cmm::wall_seconds();
      cmm::all_gather(plan, cmm::MatrixView<const float>(x.data(), own_rows, kCols),
                      cmm::MatrixView<float>(gathered.data(), kRows, kCols));
      std::ofstream(folder + "/calling." + rank);
    }
  } catch (const cmm::Error& error) {
    const double seconds = cmm::wall_seconds() - begin;
    const std::string unfinished = folder + "/writing." + rank;
    std::ofstream(unfinished) << seconds << ' ' << cmm::error_code_name(error.code()) << ' '
                              << error.rank() << ' ' << error.what() << '\n';
    std::filesystem::rename(unfinished, folder + "/error." + rank);
  }
  await_all(folder + "/error.", num_ranks);
  // MPI_Finalize would wait for the host that is cut off.
  _exit(0);
}
