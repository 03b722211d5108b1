// A program that leaves MPI to the library: nothing here initialises or finalises it. With the
// argument `exit` rank 1 ends while rank 0 waits for it.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "cmm/cmm.hpp"
#include "cmm/mpi.hpp"

namespace {

// Destroyed after MPI is finalised, which must do no harm.
std::optional<cmm::Mesh> kept;

int num_ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* const value = std::getenv(name)) return std::atoi(value);
  }
  return 1;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int size = num_ranks();
  kept = cmm::mesh_from_environment({{"tp", size}});
  const cmm::Axis axis = kept->axis("tp");
  if (axis.exchange("here").size() != static_cast<std::size_t>(size)) return fail("texts missing");
  if (argc < 2 || std::string(argv[1]) != "exit") return 0;
  if (axis.rank() == 1) std::exit(0);
  try {
    axis.barrier();
  } catch (const cmm::Error& error) {
    const std::string what = error.what();
    const bool right = error.code() == cmm::ErrorCode::kPeerFailed && error.rank() == 1 &&
                       what.find("rank 1 has left the mesh") != std::string::npos;
    return right ? 0 : fail("wrong: " + what);
  }
  return fail("the barrier returned though rank 1 had ended");
}
