// The same problem as bench_fused by MPI: MPI_Allgatherv, then the fastest product there is (our
// own). Run by mpirun -n P; rank 0 prints and writes.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "base/integers.hpp"
#include "cmm/cmm.hpp"
#include "report.hpp"

namespace cmm::bench {
namespace {

constexpr std::int64_t kColdRows = 64;
constexpr double kSampleSeconds = 2e-3;

struct Options {
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::vector<std::int64_t> m = {1, 4, 16, 64, 256, 1024, 4096};
  std::int64_t k = 4096;
  std::int64_t n = 14336;  // of all ranks together
  int cores = 2;
  std::int64_t cold_mib = 300;  // of all ranks together
  int rounds = 9;
  bool quick = false;
  std::string json;
};

class Problem {
 public:
  Problem(const Options& options, DType dtype, std::int64_t m)
      : dtype_(dtype), m_(m), k_(options.k), elem_bytes_(static_cast<int>(dtype_bytes(dtype))) {
    int rank = 0, num_ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Type_contiguous(static_cast<int>(k_ * elem_bytes_), MPI_BYTE, &row_);
    MPI_Type_commit(&row_);
    for (int r = 0; r < num_ranks; ++r) {
      const Range rows = even_part(m, num_ranks, r);
      counts_.push_back(static_cast<int>(rows.size()));
      offsets_.push_back(static_cast<int>(rows.begin));
    }
    n_local_ = even_part(options.n, num_ranks, rank).size();
    rank_ = static_cast<std::size_t>(rank);
    threads_ = std::max(1, options.cores / num_ranks);
    x_local_ = AlignedBuffer(std::max(1, counts_[rank_]) * k_ * elem_bytes_);
    fill_random(x_local_, dtype);
    gathered_ = AlignedBuffer(m * k_ * elem_bytes_);
    out_ = AlignedBuffer(m * n_local_ * elem_bytes_);
    AlignedBuffer y(k_ * n_local_ * elem_bytes_);
    fill_random(y, dtype);
    const std::int64_t copies =
        m <= kColdRows ? ceil_div(options.cold_mib << 20, y.bytes() * num_ranks) + 1 : 1;
    for (std::int64_t i = 0; i < copies; ++i) {
      weights_.push_back(
          Weights::pack(StridedMatrixRef(y.data(), dtype, k_, n_local_, n_local_, 1)));
    }
    plan_ = std::make_unique<Plan>(Plan::make(
        Mesh::threads({{"one", 1}})[0].axis("one"),
        {.m = m, .k = k_, .n_local = {n_local_}, .dtype = dtype}, {.threads = threads_}));
  }
  ~Problem() { MPI_Type_free(&row_); }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void gather() {
    MPI_Allgatherv(x_local_.data(), counts_[rank_], row_, gathered_.data(), counts_.data(),
                   offsets_.data(), row_, MPI_COMM_WORLD);
  }
  void multiply() {
    all_gather_matmul(*plan_, ConstMatrixRef(gathered_.data(), dtype_, m_, k_, k_),
                      weights_[next_++ % weights_.size()],
                      MatrixRef(out_.data(), dtype_, m_, n_local_, n_local_));
  }
  int threads() const { return threads_; }

 private:
  DType dtype_;
  std::int64_t m_, k_;
  std::int64_t n_local_ = 0;
  int elem_bytes_;
  std::size_t rank_ = 0;
  int threads_ = 1;
  MPI_Datatype row_;
  std::vector<int> counts_, offsets_;
  AlignedBuffer x_local_, gathered_, out_;
  std::vector<Weights> weights_;
  std::size_t next_ = 0;
  std::unique_ptr<Plan> plan_;
};

// From the first rank's start to the last rank's end: the ranks of one host share its clock.
template <class Call>
double seconds_of(int calls, const Call& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = wall_seconds();
  for (int i = 0; i < calls; ++i) call();
  double end = wall_seconds();
  MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (end - begin) / calls;
}

nlohmann::json measure(const Options& options, DType dtype, std::int64_t m, int num_ranks) {
  Problem problem(options, dtype, m);
  const auto both = [&] {
    problem.gather();
    problem.multiply();
  };
  seconds_of(1, both);
  const int calls = static_cast<int>(std::ceil(kSampleSeconds / seconds_of(1, both)));
  std::vector<double> total, gather;
  for (int round = 0; round < options.rounds; ++round) {
    total.push_back(seconds_of(calls, both));
    gather.push_back(seconds_of(calls, [&] { problem.gather(); }));
  }
  return {
      {"dtype", dtype_name(dtype)},
      {"num_ranks", num_ranks},
      {"threads_per_rank", problem.threads()},
      {"m", m},
      {"k", options.k},
      {"n", options.n},
      {"seconds", {{"total", to_json(spread(total))}, {"all_gather", to_json(spread(gather))}}}};
}

int run(int argc, char** argv) {
  Options options;
  options.cores = static_cast<int>(std::thread::hardware_concurrency());
  CLI::App app("MPI_Allgatherv, then the product; start it with mpirun -n P");
  CLI::Option* m = app.add_option("--m", options.m, "rows of x")->check(CLI::PositiveNumber);
  app.add_option("--k", options.k, "inner extent")->check(CLI::PositiveNumber);
  CLI::Option* n =
      app.add_option("--n", options.n, "columns of y, all ranks")->check(CLI::PositiveNumber);
  app.add_option("--cores", options.cores, "threads of all ranks together, one a rank at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--dtype", options.dtypes, "f32, bf16, f16");
  CLI::Option* rounds =
      app.add_option("--rounds", options.rounds, "samples per figure")->check(CLI::PositiveNumber);
  app.add_flag("--quick", options.quick, "the problems of bench_fused --quick");
  app.add_option("--json", options.json, "file for the figures");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (m->count() == 0) options.m = {1, 16, 256, 1024};
    if (n->count() == 0) options.n = 8192;
    if (rounds->count() == 0) options.rounds = 7;
  }
  int rank = 0, num_ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string library(version, std::string(version).find(','));

  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& dtype : options.dtypes) {
    for (const std::int64_t rows_of_x : options.m) {
      rows.push_back(measure(options, parse_dtype(dtype), rows_of_x, num_ranks));
      if (rank != 0) continue;
      const nlohmann::json& seconds = rows.back()["seconds"];
      std::printf("%s  P %d  %-5s m %5lld  all_gather %9.3f ms  both %9.3f ms\n", library.c_str(),
                  num_ranks, dtype.c_str(), static_cast<long long>(rows_of_x),
                  1e3 * seconds["all_gather"]["median"].get<double>(),
                  1e3 * seconds["total"]["median"].get<double>());
      std::fflush(stdout);
    }
  }
  if (rank == 0) write_json(options.json, {{"library", library}, {"products", rows}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
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
