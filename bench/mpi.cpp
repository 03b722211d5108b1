// The fused operation on ranks that mpirun has started, against MPI_Allgatherv and the fastest
// product there is (our own), and against the bound. Rank 0 prints and writes.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <optional>

#include "cmm/cmm.hpp"
#include "cmm/machine.hpp"
#include "cmm/mpi.hpp"
#include "problems.hpp"
#include "rank_report.hpp"
#include "rank_work.hpp"
#include "report.hpp"
#include "turns.hpp"
#include "waiting.hpp"

namespace cmm::bench {
namespace {

class MpiMeeting final : public Meeting {
 public:
  void meet() override { MPI_Barrier(MPI_COMM_WORLD); }
  std::vector<std::vector<double>> gather(const std::vector<double>& mine) override {
    int num_ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const std::size_t count = mine.size();
    std::vector<double> all(count * static_cast<std::size_t>(num_ranks));
    MPI_Allgather(mine.data(), static_cast<int>(count), MPI_DOUBLE, all.data(),
                  static_cast<int>(count), MPI_DOUBLE, MPI_COMM_WORLD);
    std::vector<std::vector<double>> of_ranks;
    for (std::size_t first = 0; first < all.size(); first += count) {
      of_ranks.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(first),
                            all.begin() + static_cast<std::ptrdiff_t>(first + count));
    }
    return of_ranks;
  }
};

// MPI_Allgatherv of the rows.
class MpiGather {
 public:
  explicit MpiGather(const Case& c) {
    MPI_Type_contiguous(static_cast<int>(c.k * c.elem_bytes()), MPI_BYTE, &row_);
    MPI_Type_commit(&row_);
    for (int r = 0; r < c.num_ranks; ++r) {
      counts_.push_back(static_cast<int>(c.num_rows(r)));
      offsets_.push_back(static_cast<int>(c.first_row(r)));
    }
  }
  ~MpiGather() { MPI_Type_free(&row_); }
  MpiGather(const MpiGather&) = delete;
  MpiGather& operator=(const MpiGather&) = delete;

  void operator()(const ConstMatrixRef& x_local, const MatrixRef& gathered) {
    MPI_Allgatherv(x_local.data, static_cast<int>(x_local.rows), row_, gathered.data,
                   counts_.data(), offsets_.data(), row_, MPI_COMM_WORLD);
  }

 private:
  MPI_Datatype row_;
  std::vector<int> counts_, offsets_;
};

struct Result {
  Seconds seconds;
  Explanation plan;  // on rank 0: explaining measures the machine, which one rank does at a time
};

struct Meshes {
  Mesh polled;
  // The same ranks, with a thread that moves messages while they multiply; none on one host, where
  // there are no messages.
  std::optional<Mesh> helped;
};

Result measure(const Case& c, int rounds, const Meshes& meshes) {
  const Mesh& mesh = meshes.polled;
  AlignedBuffer whole(c.m * c.k * c.elem_bytes());
  fill_random(whole, c.dtype);
  const ConstMatrixRef x(whole.data(), c.dtype, c.m, c.k, c.k);
  const ConstMatrixRef own = rows_of(x, c, mesh.rank());
  // Where peers of this host read it in place, and where x of a program lies that does not know.
  const auto own_bytes = static_cast<std::size_t>(own.rows * c.k * c.elem_bytes());
  const Memory shared = mesh.allocate(static_cast<std::int64_t>(own_bytes) + 1);
  std::memcpy(shared.data(), own.data, own_bytes);
  const ConstMatrixRef x_local(shared.data(), c.dtype, own.rows, c.k, c.k);
  const Axis axis = mesh.axis("tp");
  const std::vector<Weights> y = pack_copies(c, mesh.rank());
  RankWork work({c, axis, x, x_local, y});
  RankWork of_own_memory({c, axis, x, own, y});
  std::optional<RankWork> helped;
  if (meshes.helped) helped.emplace(RankWork::Setup{c, meshes.helped->axis("tp"), x, own, y});
  MpiGather mpi_gather(c);
  std::vector<Version> versions = {{"fused", [&] { work.fused(); }},
                                   {"fused_with_copy", [&] { of_own_memory.fused(); }},
                                   {"product", [&] { work.multiply(); }},
                                   {"all_gather", [&] { work.gather(); }},
                                   {"all_gather_direct", [&] { work.gather_direct(); }},
                                   {"all_gather_mpi", [&] { mpi_gather(own, work.gathered()); }},
                                   {"barrier", [&] { axis.barrier(); }},
                                   {"all_gather_then_product",
                                    [&] {
                                      work.gather_direct();
                                      work.multiply_gathered();
                                    }},
                                   {"all_gather_mpi_then_product", [&] {
                                      mpi_gather(own, work.gathered());
                                      work.multiply_gathered();
                                    }}};
  if (helped) versions.push_back({"fused_with_helper", [&] { helped->fused(); }});
  MpiMeeting meeting;
  // The first round touches outputs, threads and caches.
  const Seconds once = take_turns(meeting, versions, {.rounds = 2});
  const int calls = calls_per_sample(once.at("fused")[1]);
  Result result;
  result.seconds = take_turns(meeting, versions, {.rounds = rounds, .calls = calls});
  if (mesh.rank() == 0) result.plan = work.explain();
  return result;
}

// Of bench_wait, and of MPI's own gather of as many bytes.
nlohmann::json measure_waiting_beside_mpi(const Mesh& mesh) {
  const Axis axis = mesh.axis("tp");
  MpiMeeting meeting;
  nlohmann::json out = measure_waiting(mesh, meeting);
  const auto of_rank = static_cast<int>(kSmallBytes / axis.num_ranks());
  const std::vector<char> mine(static_cast<std::size_t>(of_rank));
  std::vector<char> all(static_cast<std::size_t>(of_rank) *
                        static_cast<std::size_t>(axis.num_ranks()));
  const auto gather = [&] {
    MPI_Allgather(mine.data(), of_rank, MPI_BYTE, all.data(), of_rank, MPI_BYTE, MPI_COMM_WORLD);
  };
  out["gather_mpi"] = to_json(latency(meeting, axis.rank(), gather));
  out["waiting_cpu_share_mpi"] = waiting_cpu_share(axis, meeting, gather);
  return out;
}

int run(int argc, char** argv) {
  Problems problems;
  CLI::App app("The fused operation and MPI_Allgatherv with a product; start it with mpirun -n P");
  problems.add_flags(app);
  int num_hosts = 1;
  std::string link = "memory";
  app.add_option("--hosts", num_hosts, "that the ranks were started on, for the figures")
      ->check(CLI::PositiveNumber);
  app.add_option("--link", link, "between the hosts, for the figures: 1gbit");
  CLI11_PARSE(app, argc, argv);
  problems.settle(app);
  int num_ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string library(version, std::string(version).find(','));
  const std::vector<AxisSize> axes = {{"tp", num_ranks}};
  Meshes meshes{mesh_from_mpi(MPI_COMM_WORLD, axes, {.progress = MpiProgress::kPoll}), {}};
  if (num_hosts > 1) {
    meshes.helped = mesh_from_mpi(MPI_COMM_WORLD, axes, {.progress = MpiProgress::kHelper});
  }
  const Mesh& mesh = meshes.polled;

  nlohmann::json rows = nlohmann::json::array();
  Machine machine;
  std::optional<DType> dtype;  // of that figure
  for (const Case& c : problems.cases(num_ranks)) {
    if (dtype != c.dtype && mesh.rank() == 0) {
      // The others sleep when they come to the next plan.
      machine = measure_machine(default_isa(), c.dtype);
      print_head(c, machine);
    }
    dtype = c.dtype;
    const Result result = measure(c, problems.rounds, meshes);
    if (mesh.rank() != 0) continue;
    rows.push_back(figures({c, result.seconds, result.plan, machine, num_hosts}));
    print_figures(rows.back());
  }
  nlohmann::json report = {{"library", library}, {"link", link}, {"products", rows}};
  if (num_ranks > 1) report["waiting"] = measure_waiting_beside_mpi(mesh);
  if (mesh.rank() == 0) write_json(problems.json, std::move(report));
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int status = 1;
  try {
    status = cmm::bench::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_mpi: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
