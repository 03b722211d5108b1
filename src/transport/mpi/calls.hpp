// How this library calls MPI: from which threads, behind which lock, and what its errors become.
#pragma once

#include <mpi.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cmm::transport::mpi {

// Held around every MPI call of ours in this process, and what those calls change. MPI_THREAD_
// SERIALIZED demands one call at a time; at MPI_THREAD_MULTIPLE it costs some 20 ns beside a call
// that takes MPI's own locks.
std::mutex& calls_mutex();
using CallsLock = std::unique_lock<std::mutex>;

// Who may call MPI for a mesh, by the level MPI was initialised with.
class ThreadRule {
 public:
  // The calling thread makes the mesh. Throws Error(kInvalidArgument) where MPI is not running.
  ThreadRule();

  int level() const { return level_; }
  bool any_thread() const { return level_ >= MPI_THREAD_SERIALIZED; }
  bool may_call() const { return any_thread() || std::this_thread::get_id() == owner_; }

 private:
  int level_ = MPI_THREAD_SINGLE;
  std::thread::id owner_ = std::this_thread::get_id();
};
const char* level_name(int level);  // "MPI_THREAD_FUNNELED"

bool running();  // initialised and not finalised

std::string error_text(int code);  // MPI's words
// Throws Error(kPeerFailed) with them where `code` is not MPI_SUCCESS.
void check(int code, const char* call);

// Whether all are complete, errors included; those that are become MPI_REQUEST_NULL. Lock held.
//
// Requests are tested one by one everywhere: MPICH takes an error in MPI_Testsome and the like for
// one of the whole program, whatever the communicator's error handler says.
bool all_complete(std::vector<MPI_Request>& requests);

}  // namespace cmm::transport::mpi
