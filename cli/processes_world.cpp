#include "processes_world.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "combine.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

using std::chrono::milliseconds;

// Between two exchanges ranks may read files or check outputs for long. A rank that dies ends the
// wait at once, and one that is stopped is found by its neighbour on its machine. What remains is a
// rank that is alone on its machine, or frozen in a way that its state does not tell.
milliseconds patience_of(milliseconds deadline, const Cores& cores) {
  if (cores.num_machines == 1) return std::max<milliseconds>(std::chrono::hours(1), deadline);
  return std::max<milliseconds>(std::chrono::minutes(5), 10 * deadline);
}

class ProcessRank : public Rank {
 public:
  struct Waits {
    milliseconds deadline;  // of a meeting
    milliseconds patience;  // of one that ranks prepare for
  };
  ProcessRank(const Axis& axis, const Waits& waits) : axis_(axis), waits_(waits) {}

  int rank() const override { return axis_.rank(); }
  const Axis& axis() const override { return axis_; }
  void meet() override { axis_.barrier(waits_.deadline); }
  void get_ready() override { axis_.barrier(waits_.patience); }
  std::int64_t value_of_rank_0(std::int64_t mine) override {
    return number_from(0, axis_.exchange(std::to_string(mine), waits_.deadline)[0], "a number");
  }

 private:
  const Axis& axis_;
  Waits waits_;
};

// Ranks with equal texts run on one kernel, so that they share its cores and its clock.
std::string machine_text() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  file >> text;
  return text;
}

cpu_set_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
  return set;
}

Cores cores_of(const std::vector<std::string>& machines, const std::vector<cpu_set_t>& allowed,
               std::size_t self) {
  Cores cores;
  cores.in_all = 0;
  cores.processes_on_machine = 0;
  std::vector<std::string> seen;
  int sharing = 0;
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    cpu_set_t both;
    CPU_AND(&both, &allowed[rank], &allowed[self]);
    const bool is_near = machines[rank] == machines[self];
    if (is_near) ++cores.processes_on_machine;
    if (is_near && CPU_COUNT(&both) > 0) ++sharing;
    if (std::find(seen.begin(), seen.end(), machines[rank]) != seen.end()) continue;
    seen.push_back(machines[rank]);
    cpu_set_t all = allowed[rank];
    for (std::size_t other = rank + 1; other < machines.size(); ++other) {
      if (machines[other] == machines[rank]) CPU_OR(&all, &all, &allowed[other]);
    }
    cores.in_all += CPU_COUNT(&all);
  }
  cores.num_machines = static_cast<int>(seen.size());
  cores.machine =
      static_cast<int>(std::find(seen.begin(), seen.end(), machines[self]) - seen.begin());
  cores.allowed = CPU_COUNT(&allowed[self]);
  cores.of_process = std::max(1, cores.allowed / std::max(sharing, 1));
  return cores;
}

}  // namespace

milliseconds meeting_deadline(milliseconds deadline) {
  return std::max<milliseconds>(deadline, std::chrono::seconds(5));
}

ProcessesWorld::ProcessesWorld(Mesh mesh, StartedJob job)
    : mesh_(std::move(mesh)),
      axis_(mesh_.axis("tp")),
      started_by_(std::move(job.started_by)),
      patience_(meeting_deadline(job.deadline)) {
  const std::vector<std::string> machines = gather(machine_text());
  const std::vector<cpu_set_t> allowed =
      joined_values(*this, std::vector<cpu_set_t>{allowed_cores()});
  const std::vector<SeenProcess> processes =
      joined_values(*this, std::vector<SeenProcess>{this_process()});
  cores_ = cores_of(machines, allowed, static_cast<std::size_t>(mesh_.rank()));
  patience_ = patience_of(job.deadline, cores_);
  watch_neighbour(machines, processes, job.deadline);
}

// Each watches the next on its machine, in a ring. Of neighbours that are all stopped the first has
// one before it that is not, unless all are: then nobody waits.
void ProcessesWorld::watch_neighbour(const std::vector<std::string>& machines,
                                     const std::vector<SeenProcess>& processes,
                                     milliseconds deadline) {
  const std::size_t num_ranks = machines.size();
  const std::size_t self = static_cast<std::size_t>(mesh_.rank());
  for (std::size_t step = 1; step < num_ranks; ++step) {
    const std::size_t peer = (self + step) % num_ranks;
    if (machines[peer] != machines[self] || processes[peer].pid == processes[self].pid ||
        processes[peer].pid_namespace != processes[self].pid_namespace) {
      continue;
    }
    const std::int64_t pid = processes[peer].pid;
    watch_.emplace(processes[peer], deadline, [this, peer, pid, deadline] {
      say(text("rank ", mesh_.rank(), ": "),
          text("rank ", peer, " (process ", pid, ") has been stopped for longer than the deadline",
               " of ", deadline.count(), " ms; let it run, or give a longer --deadline-ms"));
      // The thread of the commands may be in the middle of anything; whoever started the job ends
      // the other ranks when one has ended like this.
      std::quick_exit(kOutsideWorld);
    });
    return;
  }
}

std::shared_ptr<void> ProcessesWorld::allocate(std::int64_t bytes) {
  const Memory memory = mesh_.allocate(bytes);
  return {std::make_shared<Memory>(memory), memory.data()};
}

void ProcessesWorld::run(int /*num_ranks*/, milliseconds deadline,
                         const std::function<void(Rank&)>& body) {
  ProcessRank rank(axis_, {deadline, patience_});
  body(rank);
}

std::vector<std::string> ProcessesWorld::gather(const std::string& mine) {
  return axis_.exchange(mine, patience_);
}

int ProcessesWorld::finish(int exit_code) {
  const std::vector<int> codes = joined_values(*this, std::vector<int>{exit_code});
  mesh_.leave("its command has ended");
  return *std::max_element(codes.begin(), codes.end());
}

int ProcessesWorld::fail(const Failure& failure) {
  watch_.reset();  // one cause is enough
  if (failure.agreed) {
    if (mesh_.rank() == 0) say_in_turn({std::max(failure.culprit, 0)}, failure.text);
    mesh_.leave("its command has failed");
    return failure.exit_code;
  }
  mesh_.abort(failure.text);
  const int first = failure.culprit == 0 && mesh_.num_ranks() > 1 ? 1 : 0;
  say_in_turn({mesh_.rank(), mesh_.rank() == first}, failure.text);
  return failure.exit_code;
}

}  // namespace cmm::cli
