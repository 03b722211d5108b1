#include "transport/mpi/calls.hpp"

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::transport::mpi {

// Never destroyed: the last meshes of a program may go after its static objects.
std::mutex& calls_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

bool running() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

ThreadRule::ThreadRule() {
  if (!running()) {
    throw Error(ErrorCode::kInvalidArgument,
                "MPI is not running: call MPI_Init_thread before and MPI_Finalize after, or let "
                "mesh_from_environment do both");
  }
  MPI_Query_thread(&level_);
}

const char* level_name(int level) {
  if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
  if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return "MPI_THREAD_SINGLE";
}

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw Error(ErrorCode::kPeerFailed, cat(call, " failed: ", error_text(code)));
}

bool all_complete(std::vector<MPI_Request>& requests) {
  bool all = true;
  for (MPI_Request& request : requests) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    all = all && done != 0;
  }
  return all;
}

}  // namespace cmm::transport::mpi
