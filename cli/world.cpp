#include "world.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "history_signal.hpp"
#include "parallel.hpp"
#include "processes_world.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

// What the ranks of one run share.
struct Shared {
  explicit Shared(int num_ranks) : barrier(num_ranks) {}
  SpinBarrier barrier;
  std::int64_t value = 0;  // written by rank 0 between two barriers
};

class ThreadRank : public Rank {
 public:
  ThreadRank(Mesh& mesh, Shared& shared)
      : rank_(mesh.rank()), axis_(mesh.axis("tp")), shared_(shared) {}

  int rank() const override { return rank_; }
  const Axis& axis() const override { return axis_; }
  void meet() override { shared_.barrier.wait(); }
  void get_ready() override { meet(); }
  std::int64_t value_of_rank_0(std::int64_t mine) override {
    meet();
    if (rank_ == 0) shared_.value = mine;
    meet();
    return shared_.value;
  }

 private:
  int rank_;
  Axis axis_;
  Shared& shared_;
};

class ThreadsWorld : public World {
 public:
  ThreadsWorld() { cores_.in_all = cores_.allowed = cores_.of_process = num_cores(); }

  std::optional<int> num_started() const override { return std::nullopt; }
  std::string_view started_by() const override { return "cmm"; }
  RankRange ranks_here(int num_ranks) const override { return {0, num_ranks}; }
  const Cores& cores() const override { return cores_; }
  std::string_view transport() const override { return "threads"; }
  int num_hosts() const override { return 1; }
  int default_threads(int num_ranks) const override {
    return std::max(1, cores_.of_process / num_ranks);
  }

  void run(int num_ranks, std::chrono::milliseconds /*deadline*/,
           const std::function<void(Rank&)>& body) override {
    Shared shared(num_ranks);
    std::mutex mutex;
    std::exception_ptr first;  // recorded before peers leave the barrier for want of this rank
    const auto guarded = [&](Mesh& mesh) {
      try {
        const ShownMesh shown(mesh);
        ThreadRank rank(mesh, shared);
        body(rank);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        shared.barrier.leave();
        throw;
      }
    };
    try {
      run_ranks({{"tp", num_ranks}}, guarded);
    } catch (...) {
      if (first) std::rethrow_exception(first);
      throw;
    }
  }

  std::shared_ptr<void> allocate(std::int64_t /*bytes*/) override { return nullptr; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
  int finish(int exit_code) override { return exit_code; }
  int fail(const Failure& failure) override {
    say("", failure.text);
    return failure.exit_code;
  }

 private:
  Cores cores_;
};

// A step's outcome in one text: empty, or the code of its error and then what it says.
std::string outcome_of(const std::function<void()>& step) {
  const auto failed = [](ErrorCode code, const std::string& what) {
    return static_cast<char>('a' + static_cast<int>(code)) + what;
  };
  try {
    step();
    return {};
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return failed(ErrorCode::kIo, error.what());
  }
}

}  // namespace

void together(World& world, const std::function<void()>& step) {
  const std::vector<std::string> outcomes = world.gather(outcome_of(step));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (outcomes[rank].empty()) continue;
    const int code = outcomes[rank][0] - 'a';
    if (code < 0 || code > static_cast<int>(ErrorCode::kIo)) {
      throw not_understood(rank, "the outcome of a step");
    }
    throw AgreedError(static_cast<ErrorCode>(code), outcomes[rank].substr(1),
                      static_cast<int>(rank));
  }
}

Error not_understood(std::size_t rank, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument,
               text("rank ", rank, " has sent something else where ", what,
                    " was expected; start the same cmm with the same arguments as all ranks"),
               static_cast<int>(rank));
}

std::int64_t number_from(std::size_t rank, const std::string& word, const std::string& what) {
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end) throw not_understood(rank, what);
  return value;
}

std::vector<std::string> gather_long(World& world, const std::string& mine) {
  constexpr const char* kWhat = "the size of a text";
  constexpr std::size_t kPartBytes = std::size_t{256} << 10;
  if (world.is_one_process()) return {mine};
  const std::vector<std::string> sizes = world.gather(std::to_string(mine.size()));
  std::vector<std::int64_t> bytes;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    bytes.push_back(number_from(rank, sizes[rank], kWhat));
  }
  const std::int64_t longest = *std::max_element(bytes.begin(), bytes.end());
  std::vector<std::string> whole(sizes.size());
  for (std::size_t at = 0; static_cast<std::int64_t>(at) < longest; at += kPartBytes) {
    const std::string part = at < mine.size() ? mine.substr(at, kPartBytes) : std::string();
    const std::vector<std::string> parts = world.gather(part);
    for (std::size_t rank = 0; rank < whole.size(); ++rank) whole[rank] += parts[rank];
  }
  for (std::size_t rank = 0; rank < whole.size(); ++rank) {
    if (static_cast<std::int64_t>(whole[rank].size()) != bytes[rank]) {
      throw not_understood(rank, "a text of the announced size");
    }
  }
  return whole;
}

std::unique_ptr<World> make_threads_world() { return std::make_unique<ThreadsWorld>(); }

Started started_from_environment() {
  if (const std::optional<RankEnvironment> rank = rank_environment()) {
    return {Starter::kLauncher, rank->rank};
  }
  // Open MPI's, MPICH's and the Process Management Interface's of others.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const char* rank = std::getenv(name)) return {Starter::kMpi, std::atoi(rank)};
  }
  return {};
}

std::unique_ptr<World> find_world(const Started& started, std::chrono::milliseconds deadline) {
  switch (started.by) {
    case Starter::kLauncher:
      return std::make_unique<ProcessesWorld>(
          Mesh::from_environment({{"tp", rank_environment()->num_ranks}},
                                 meeting_deadline(deadline)),
          StartedJob{"cmm launch", deadline});
    case Starter::kMpi:
      return make_mpi_world(deadline);
    case Starter::kNobody:
      break;
  }
  return make_threads_world();
}

void warn_where_bound(World& world, int threads) {
  if (world.is_one_process()) return;
  const int allowed = world.cores().allowed;
  const bool is_bound = allowed < static_cast<int>(std::thread::hardware_concurrency());
  const std::vector<std::string> warnings = world.gather(
      is_bound && allowed < threads
          ? text("has ", threads, " threads on the ", allowed, allowed == 1 ? " core" : " cores",
                 " that its process is bound to; `mpirun --bind-to none` leaves it all cores")
          : "");
  for (std::size_t rank = 0; rank < warnings.size() && world.reports(); ++rank) {
    if (warnings[rank].empty()) continue;
    say("", text("rank ", rank, " ", warnings[rank]));
    return;
  }
}

void say_in_turn(const Speaker& speaker, const std::string& message) {
  if (!speaker.is_first) std::this_thread::sleep_for(std::chrono::seconds(1));
  say(text("rank ", speaker.rank, ": "), message);
}

void say(const std::string& prefix, std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "cmm: %s%s\n", prefix.c_str(), text.c_str());
}

}  // namespace cmm::cli
