#include "processes_world.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "combine.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

using std::chrono::milliseconds;

// Between two exchanges ranks may read files or check outputs for long. A rank that dies ends the
// wait at once; this is for one that is frozen.
constexpr milliseconds kPatience = std::chrono::hours(1);

class ProcessRank : public Rank {
 public:
  ProcessRank(const Axis& axis, milliseconds deadline) : axis_(axis), deadline_(deadline) {}

  int rank() const override { return axis_.rank(); }
  const Axis& axis() const override { return axis_; }
  void meet() override { axis_.barrier(deadline_); }
  void get_ready() override { axis_.barrier(kPatience); }
  std::int64_t value_of_rank_0(std::int64_t mine) override {
    return std::stoll(axis_.exchange(std::to_string(mine), deadline_)[0]);
  }

 private:
  const Axis& axis_;
  milliseconds deadline_;
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

ProcessesWorld::ProcessesWorld(Mesh mesh, std::string started_by)
    : mesh_(std::move(mesh)), axis_(mesh_.axis("tp")), started_by_(std::move(started_by)) {
  const std::vector<std::string> machines = gather(machine_text());
  const std::vector<cpu_set_t> allowed =
      joined_values(*this, std::vector<cpu_set_t>{allowed_cores()});
  cores_ = cores_of(machines, allowed, static_cast<std::size_t>(mesh_.rank()));
}

std::shared_ptr<void> ProcessesWorld::allocate(std::int64_t bytes) {
  const Memory memory = mesh_.allocate(bytes);
  return {std::make_shared<Memory>(memory), memory.data()};
}

void ProcessesWorld::run(int /*num_ranks*/, milliseconds deadline,
                         const std::function<void(Rank&)>& body) {
  ProcessRank rank(axis_, deadline);
  body(rank);
}

std::vector<std::string> ProcessesWorld::gather(const std::string& mine) {
  return axis_.exchange(mine, kPatience);
}

int ProcessesWorld::finish(int exit_code) {
  const std::vector<int> codes = joined_values(*this, std::vector<int>{exit_code});
  mesh_.leave("its command has ended");
  return *std::max_element(codes.begin(), codes.end());
}

int ProcessesWorld::fail(const Failure& failure) {
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
