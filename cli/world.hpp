// The ranks that a command runs on: threads of this process, or processes that were started
// together, of which this is one.
//
//   threads (default)     one process holds all ranks and starts as many as it is asked for
//   started together      `cmm launch -n P -- cmm ...`, `mpirun -n P cmm ...`: this process is one
//                         rank of P; the command runs in all of them and rank 0 prints
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/error.hpp"
#include "cmm/mesh.hpp"
#include "spin_barrier.hpp"

namespace cmm::cli {

// One rank, inside World::run.
class Rank {
 public:
  virtual ~Rank() = default;
  virtual int rank() const = 0;
  virtual const Axis& axis() const = 0;
  // Every rank comes here, and none goes on before all have come: the start of a measurement.
  virtual void meet() = 0;
  // The same where ranks come at different times, since they have been preparing. A call after it
  // has its deadline for itself.
  virtual void get_ready() = 0;
  // Collective: what rank 0 gives.
  virtual std::int64_t value_of_rank_0(std::int64_t mine) = 0;
};

// Consecutive ranks.
struct RankRange {
  int first = 0;
  int count = 1;
  int end() const { return first + count; }
};

// What the ranks' machines have for them. Ranks of one machine share a clock too.
struct Cores {
  int in_all = 1;      // cores that some rank may run on, of all machines
  int allowed = 1;     // those that this process may run on
  int of_process = 1;  // its share of them: its neighbours may run there too
  int num_machines = 1;
  int machine = 0;               // this process's, 0 .. num_machines - 1
  int processes_on_machine = 1;  // of those that were started together
};

// An error that every process has met alike, so that all end in order and one says it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

// Why a command ends, as main() makes it of an exception.
struct Failure {
  std::string text;
  int exit_code = 0;
  int culprit = -1;     // the rank at fault where one is known
  bool agreed = false;  // every process has it
};

class World {
 public:
  virtual ~World() = default;

  // How many ranks have been started; unset where the command decides.
  virtual std::optional<int> num_started() const = 0;
  // For messages: who started them, "cmm launch" or "mpirun".
  virtual std::string_view started_by() const = 0;
  // The ranks of this process when there are num_ranks.
  virtual RankRange ranks_here(int num_ranks) const = 0;
  virtual const Cores& cores() const = 0;
  virtual std::string_view transport() const = 0;  // "threads", "shared memory", "MPI"
  virtual int num_hosts() const = 0;
  virtual int default_threads(int num_ranks) const = 0;  // of each rank of this process

  // Whether this process holds rank 0, and so prints and writes files.
  bool reports() const { return ranks_here(num_started().value_or(1)).first == 0; }
  bool is_one_process() const { return !num_started(); }
  // Of bytes that num_ranks ranks need together, those of the ranks on this process's machine.
  std::int64_t bytes_on_machine(std::int64_t bytes_of_all, int num_ranks) const {
    if (is_one_process()) return bytes_of_all;
    return bytes_of_all / num_ranks * cores().processes_on_machine;
  }

  // Memory that peers which are processes read in place; null where any memory is. Not collective.
  virtual std::shared_ptr<void> allocate(std::int64_t bytes) = 0;

  // Runs body on each rank of this process and returns when all have ended; collective over the
  // processes. `deadline`: how long meet() waits. Rethrows the exception of the rank that failed
  // first.
  virtual void run(int num_ranks, std::chrono::milliseconds deadline,
                   const std::function<void(Rank&)>& body) = 0;

  // Collective over the processes, outside of run or in it: the text of each, in the order of
  // their ranks. Texts are small: a transport may copy each to all at once.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;

  // Collective: the largest exit code of all processes, which each of them ends with.
  virtual int finish(int exit_code) = 0;
  // Not collective: says the failure, once among all processes where that can be had, and takes
  // the other ranks out of their calls. Returns the exit code, or ends the process.
  virtual int fail(const Failure& failure) = 0;
};

// Runs `step` in every process; where it fails in some, every process gets the AgreedError of the
// lowest rank among them. Collective.
void together(World& world, const std::function<void()>& step);

// What to throw where a rank has sent a text that says no `what`: it runs another command or build.
Error not_understood(std::size_t rank, const std::string& what);
// A rank's text that must be one whole number; throws not_understood().
std::int64_t number_from(std::size_t rank, const std::string& text, const std::string& what);

// The texts of all processes, of any length: they travel in parts.
std::vector<std::string> gather_long(World& world, const std::string& mine);

std::unique_ptr<World> make_threads_world();

// What who started this process says of it in its environment.
enum class Starter { kNobody, kLauncher, kMpi };
struct Started {
  Starter by = Starter::kNobody;
  int rank = 0;
};
// Throws Error(kInvalidArgument) where the variables of a launcher contradict each other.
Started started_from_environment();
// The ranks that were started with this process, or threads. Collective over them. `deadline`: what
// --deadline-ms says, for the ranks to come and for one that is stopped. Throws as
// making a mesh does, and Error(kUnsupported) under mpirun where this build has no MPI.
std::unique_ptr<World> find_world(const Started& started, std::chrono::milliseconds deadline);

// A line on standard error where a rank's threads are bound to fewer cores than there are threads.
// Collective.
void warn_where_bound(World& world, int threads);

// Says a failure that other processes of the job may say too: the first to speak does so at once,
// the others only where nobody has ended them for a second.
struct Speaker {
  int rank = 0;
  bool is_first = true;
};
void say_in_turn(const Speaker& speaker, const std::string& text);

// "cmm: " + prefix + text, in one line on standard error.
void say(const std::string& prefix, std::string text);

}  // namespace cmm::cli
