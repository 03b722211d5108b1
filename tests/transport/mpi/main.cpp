// The main of a test program whose ranks mpiexec starts: all of them run all tests in the same
// order. Rank 0 prints; of the others only failures are seen.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string_view>

namespace {

class FailurePrinter final : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, result.file_name(), result.line_number(),
                 result.message());
  }
  int rank_;
};

// The level of MPI's thread support is an argument.
int level_of(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "funneled") return MPI_THREAD_FUNNELED;
    if (argument == "serialized") return MPI_THREAD_SERIALIZED;
  }
  return MPI_THREAD_MULTIPLE;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  int rank = 0;
  MPI_Init_thread(&argc, &argv, level_of(argc, argv), &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) testing::GTEST_FLAG(output) = "";
  testing::InitGoogleTest(&argc, argv);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
  }
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
