#include "waiting.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "cmm/cmm.hpp"

namespace cmm::bench {
namespace {

// Calls that are timed: as many as take so long, within limits, so that a slow link or a busy
// machine is not waited for.
constexpr double kSeconds = 0.5;
constexpr int kMinCalls = 200;
constexpr int kMaxCalls = 20000;
constexpr std::chrono::seconds kWait{1};

class CpuShare {
 public:
  double value() const {
    return (clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin_) / (wall_seconds() - begin_);
  }

 private:
  double begin_ = wall_seconds();
  double cpu_begin_ = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
};

// Two ranks that wait for each other by yielding can share a core for long while others are busy:
// to the system both seem to be content. A gather takes 14 us then instead of 2.
class KeptToCore {
 public:
  explicit KeptToCore(int rank) {
    sched_getaffinity(0, sizeof(before_), &before_);
    int skip = rank % CPU_COUNT(&before_);
    int core = 0;
    while (!CPU_ISSET(core, &before_) || skip-- > 0) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~KeptToCore() { sched_setaffinity(0, sizeof(before_), &before_); }
  KeptToCore(const KeptToCore&) = delete;
  KeptToCore& operator=(const KeptToCore&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace

nlohmann::json to_json(const Latency& latency) {
  return {{"median", latency.median}, {"p10", latency.p10}, {"p90", latency.p90}};
}

Latency latency(Meeting& meeting, int rank, const std::function<void()>& call) {
  const KeptToCore kept(rank);
  const auto timed = [&](int num_calls) {
    std::vector<double> seconds(static_cast<std::size_t>(num_calls));
    meeting.meet();
    for (double& one : seconds) {
      const double begin = wall_seconds();
      call();
      one = wall_seconds() - begin;
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  };
  const double before = meeting.gather({timed(kMinCalls)[kMinCalls / 2]})[0][0];
  const std::vector<double> seconds =
      timed(static_cast<int>(std::clamp(kSeconds / before, 1.0 * kMinCalls, 1.0 * kMaxCalls)));
  const std::size_t last = seconds.size() - 1;
  return {seconds[seconds.size() / 2], seconds[last / 10], seconds[last - last / 10]};
}

double waiting_cpu_share(const Axis& axis, Meeting& meeting, const std::function<void()>& call) {
  meeting.meet();
  if (axis.rank() == axis.num_ranks() - 1) std::this_thread::sleep_for(kWait);
  const CpuShare share;
  call();
  return share.value();
}

double idle_cpu_share(Meeting& meeting) {
  meeting.meet();
  const CpuShare share;
  std::this_thread::sleep_for(kWait);
  const double value = share.value();
  meeting.meet();
  return value;
}

nlohmann::json measure_waiting(const Mesh& mesh, Meeting& meeting) {
  const Axis axis = mesh.axis("tp");
  constexpr std::int64_t kRowBytes = 4 << 10;
  constexpr std::int64_t kRows = kSmallBytes / kRowBytes;
  constexpr std::int64_t kCols = kRowBytes / sizeof(float);
  const Plan plan = Plan::make(axis, {.m = kRows, .k = kCols, .n_local = {1}});
  const std::int64_t own_rows = plan.rows_of(axis.rank(), kRows);
  const Memory shared = mesh.allocate(kSmallBytes);
  std::vector<float> gathered(static_cast<std::size_t>(kRows * kCols));
  std::vector<float> own(gathered.size(), 1);
  std::copy(own.begin(), own.end(), shared.as<float>());
  const auto gather_from = [&](const float* x) {
    all_gather(plan, MatrixView<const float>(x, own_rows, kCols),
               MatrixView<float>(gathered.data(), kRows, kCols));
  };
  const auto gather = [&] { gather_from(shared.as<float>()); };
  const Weights y = Weights::pack(MatrixView<const float>(own.data(), kCols, 1));
  std::vector<float> product(kRows);
  nlohmann::json out = {{"num_ranks", axis.num_ranks()}};
  out["product"] = to_json(latency(meeting, axis.rank(), [&] {
    all_gather_matmul(plan, MatrixView<const float>(shared.as<float>(), own_rows, kCols), y,
                      MatrixView<float>(product.data(), kRows, 1));
  }));
  out["gather_with_copy"] =
      to_json(latency(meeting, axis.rank(), [&] { gather_from(own.data()); }));
  out["gather"] = to_json(latency(meeting, axis.rank(), gather));
  out["barrier"] = to_json(latency(meeting, axis.rank(), [&] { axis.barrier(); }));
  out["waiting_cpu_share"] = waiting_cpu_share(axis, meeting, gather);
  out["idle_cpu_share"] = idle_cpu_share(meeting);
  return out;
}

}  // namespace cmm::bench
