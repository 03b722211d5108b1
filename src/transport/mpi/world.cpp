#include "transport/mpi/world.hpp"

#include <algorithm>
#include <map>
#include <new>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::transport::mpi {
namespace {

// A duplication that was begun and not awaited to its end. MPI cannot call it back: a rank that
// gives up has still begun it, and so has to end it before it begins another.
struct Duplication {
  MPI_Comm from = MPI_COMM_NULL;
  MPI_Comm to = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
};

// Never destroyed, as calls_mutex(): MPI may still write what they hold.
std::vector<std::unique_ptr<Duplication>>& unfinished_duplications() {
  static auto* const list = new std::vector<std::unique_ptr<Duplication>>;
  return *list;
}
std::vector<Abandoned>& abandoned_requests() {
  static auto* const list = new std::vector<Abandoned>;
  return *list;
}

struct Unused {
  MPI_Comm comm = MPI_COMM_NULL;
  int num_ranks = 0;
};
std::map<std::uint64_t, Unused>& unused() {
  static auto* const map = new std::map<std::uint64_t, Unused>;
  return *map;
}

std::unique_ptr<Duplication> begin_duplication(MPI_Comm from) {
  auto& unfinished = unfinished_duplications();
  const auto same = std::find_if(unfinished.begin(), unfinished.end(),
                                 [&](const auto& other) { return other->from == from; });
  if (same != unfinished.end()) {
    auto duplication = std::move(*same);
    unfinished.erase(same);
    return duplication;
  }
  auto duplication = std::make_unique<Duplication>();
  duplication->from = from;
  check(MPI_Comm_idup(from, &duplication->to, &duplication->request), "MPI_Comm_idup");
  return duplication;
}

MPI_Comm duplicate(MPI_Comm from, const Deadline& deadline) {
  CallsLock lock(calls_mutex());
  std::unique_ptr<Duplication> duplication = begin_duplication(from);
  for (int done = 0;;) {
    check(MPI_Test(&duplication->request, &done, MPI_STATUS_IGNORE), "MPI_Comm_idup");
    if (done != 0) return duplication->to;
    if (deadline.expired()) {
      unfinished_duplications().push_back(std::move(duplication));
      throw Error(ErrorCode::kDeadline,
                  cat("waited ", deadline.limit_ms(),
                      " ms for all ranks of the communicator to make a mesh of it"));
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
}

}  // namespace

World::World(const Config& config, const Deadline& deadline)
    : config_(config), comm_(duplicate(config.comm, deadline)) {
  if (config.with_helper) helper_ = std::make_unique<Helper>();
  const CallsLock lock(calls_mutex());
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &num_ranks_), "MPI_Comm_size");
  int* max_tag = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm_, MPI_TAG_UB, &max_tag, &found), "MPI_Comm_get_attr");
  constexpr int kEveryMpiHas = 32767;
  tags_per_axis_ = (found != 0 ? *max_tag : kEveryMpiHas) / (config.num_axes + 1);
}

World::~World() {
  helper_.reset();
  const CallsLock lock(calls_mutex());
  if (!clean_ || identity_ == 0) return;
  try {
    unused().emplace(identity_, Unused{comm_, num_ranks_});
  } catch (const std::bad_alloc&) {
    // Then it is never freed.
  }
}

std::vector<std::uint64_t> unused_communicators(int num_ranks) {
  const CallsLock lock(calls_mutex());
  std::vector<std::uint64_t> identities;
  for (const auto& [identity, of] : unused()) {
    if (of.num_ranks == num_ranks) identities.push_back(identity);
  }
  return identities;
}

void free_communicators(const std::vector<std::vector<std::uint64_t>>& unused_of_all) {
  const CallsLock lock(calls_mutex());
  for (const std::uint64_t identity : unused_of_all.front()) {
    const bool everywhere =
        std::all_of(unused_of_all.begin(), unused_of_all.end(), [&](const auto& list) {
          return std::find(list.begin(), list.end(), identity) != list.end();
        });
    const auto found = unused().find(identity);
    if (!everywhere || found == unused().end()) continue;
    MPI_Comm_free(&found->second.comm);
    unused().erase(found);
  }
}

void abandon(Abandoned&& abandoned) noexcept {
  try {
    abandoned_requests().push_back(std::move(abandoned));
  } catch (...) {
    // No memory for the list: what cannot be kept in it is kept by never being destroyed.
    static_cast<void>(new (std::nothrow) Abandoned(std::move(abandoned)));
  }
}

void free_abandoned() noexcept {
  auto& list = abandoned_requests();
  const auto completed = [](Abandoned& abandoned) { return all_complete(abandoned.requests); };
  list.erase(std::remove_if(list.begin(), list.end(), completed), list.end());
}

std::size_t num_abandoned() { return abandoned_requests().size(); }

}  // namespace cmm::transport::mpi
