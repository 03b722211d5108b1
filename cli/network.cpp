#include "network.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "buffer.hpp"
#include "clock.hpp"
#include "cmm/all_gather_matmul.hpp"
#include "combine.hpp"
#include "processes_world.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

constexpr int kSmallRepeats = 21;
constexpr int kLargeRepeats = 9;
// A batch of small gathers, and one large gather, last about this long where memory allows: a large
// one long beside what a shaped link lets pass at once and what one lost packet costs TCP (200 ms).
constexpr double kBatchSeconds = 5e-3;
constexpr double kTransferSeconds = 0.4;
constexpr int kMaxBatch = 200;
constexpr std::int64_t kRowBytes = 4096;
constexpr std::int64_t kSmallRowBytes = 64;
constexpr std::int64_t kFirstShardBytes = std::int64_t{256} << 10;
constexpr std::int64_t kMaxGatheredBytes = std::int64_t{128} << 20;  // on each rank

// Memory of a rank that its peers read in place.
using Allocate = std::function<std::shared_ptr<void>(std::int64_t bytes)>;

struct Shard {
  std::int64_t rows = 1;
  std::int64_t row_bytes = kRowBytes;
  std::int64_t bytes() const { return rows * row_bytes; }
};

// Gathers of one size on an axis.
class Gathers {
 public:
  Gathers(const Axis& axis, const Shard& shard, const Allocate& allocate)
      : axis_(axis),
        plan_(
            Plan::make(axis, shape_of(shard, axis.num_ranks()), {.algorithm = Algorithm::kDirect})),
        x_(DType::kF32, shard.rows, elems(shard), allocate(shard.bytes())),
        gathered_(DType::kF32, shard.rows * axis.num_ranks(), elems(shard)) {
    std::memset(x_.ref().data, 0, static_cast<std::size_t>(x_.bytes()));
    std::memset(gathered_.ref().data, 0, static_cast<std::size_t>(gathered_.bytes()));
    seconds(1);  // the first call touches memory and, between hosts, opens connections
  }

  // Of one call of this rank, from when all are there. No rank ends a call before every other has
  // entered it, so calls in a row go in step.
  double seconds(int num_calls) {
    axis_.barrier();
    const double begin = now_seconds();
    for (int call = 0; call < num_calls; ++call) all_gather(plan_, x_.ref(), gathered_.ref());
    return (now_seconds() - begin) / num_calls;
  }
  // The longest of all ranks, alike on all.
  double longest_seconds(int num_calls) {
    double longest = 0;
    for (const std::string& bytes : axis_.exchange(bytes_of<double>({seconds(num_calls)}))) {
      longest = std::max(longest, values_of<double>(bytes)[0]);
    }
    return longest;
  }
  std::vector<double> repeated(int repeats, int num_calls) {
    std::vector<double> samples;
    for (int i = 0; i < repeats; ++i) samples.push_back(seconds(num_calls));
    return samples;
  }

 private:
  static std::int64_t elems(const Shard& shard) {
    return shard.row_bytes / static_cast<std::int64_t>(dtype_bytes(DType::kF32));
  }
  static ProblemShape shape_of(const Shard& shard, int num_ranks) {
    return {.m = shard.rows * num_ranks, .k = elems(shard), .n_local = {0}, .dtype = DType::kF32};
  }

  Axis axis_;
  Plan plan_;
  Matrix x_;
  Matrix gathered_;
};

// One rank's times.
struct Times {
  std::vector<double> small_seconds;  // one small gather
  std::vector<double> large_seconds;  // one gather of large_bytes on each rank
  std::int64_t large_bytes = 0;
};

Times time_gathers(const Axis& axis, const Allocate& allocate) {
  Times times;
  {
    Gathers small(axis, {.rows = 1, .row_bytes = kSmallRowBytes}, allocate);
    const double once = small.longest_seconds(kMaxBatch / 20);
    times.small_seconds = small.repeated(
        kSmallRepeats, static_cast<int>(std::clamp(kBatchSeconds / once, 1.0, double{kMaxBatch})));
  }
  const std::int64_t most_bytes = kMaxGatheredBytes / axis.num_ranks();
  Shard shard = {.rows = std::min(kFirstShardBytes, most_bytes) / kRowBytes};
  for (;;) {
    Gathers large(axis, shard, allocate);
    // The second call: the first ones after a pause may be faster on a link that saves up.
    large.seconds(1);
    const double once = large.longest_seconds(1);
    const double factor =
        std::min(kTransferSeconds / once, static_cast<double>(most_bytes) / double(shard.bytes()));
    if (factor < 2) {
      times.large_seconds = large.repeated(kLargeRepeats, 1);
      times.large_bytes = shard.bytes();
      return times;
    }
    shard.rows = static_cast<std::int64_t>(static_cast<double>(shard.rows) * std::min(factor, 8.0));
  }
}

// Of every repeat the longest among the processes; the same on all.
std::vector<double> longest(World& world, const std::vector<double>& mine) {
  std::vector<double> all(mine.size(), 0);
  const std::vector<double> joined = joined_values(world, mine);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    double& one = all[i % all.size()];
    one = std::max(one, joined[i]);
  }
  return all;
}

Spread rates(double bytes, std::vector<double> seconds) {
  for (double& one : seconds) one = bytes / one;
  return spread_of(std::move(seconds));
}

// Bytes into the host that takes most when each rank takes every shard of other hosts; on one
// host, into all ranks.
double shards_moved(const std::vector<int>& hosts) {
  const auto P = static_cast<std::int64_t>(hosts.size());
  const int num_hosts = 1 + *std::max_element(hosts.begin(), hosts.end());
  if (num_hosts == 1) return static_cast<double>(P * (P - 1));
  std::int64_t most = 0;
  for (int host = 0; host < num_hosts; ++host) {
    const std::int64_t n = std::count(hosts.begin(), hosts.end(), host);
    most = std::max(most, n * (P - n));
  }
  return static_cast<double>(most);
}

// This rank's part in the rounds of pairs: the links that lead to its host, measured by its first
// rank. Every rank takes part in making the meshes.
std::vector<Link> measure_links_to(World& world, const std::vector<int>& hosts, int rank,
                                   Progress& progress) {
  const int num_hosts = 1 + *std::max_element(hosts.begin(), hosts.end());
  const int host = hosts[static_cast<std::size_t>(rank)];
  const bool is_first = std::find(hosts.begin(), hosts.end(), host) - hosts.begin() == rank;
  std::vector<Link> links;
  for (int round = 0; round < num_pair_rounds(num_hosts); ++round) {
    progress.show("measuring", double(round) / num_pair_rounds(num_hosts));
    const int partner = pair_partner(host, round, num_hosts);
    const bool measures = is_first && partner >= 0;
    {
      const std::optional<Mesh> pair =
          make_mpi_part({.part = measures ? std::min(host, partner) : -1, .position = host});
      if (measures) {
        const Times times = time_gathers(pair->axis("tp"), [&](std::int64_t bytes) {
          const auto memory = std::make_shared<Memory>(pair->allocate(bytes));
          return std::shared_ptr<void>(memory, memory->data());
        });
        links.push_back({partner, host, spread_of(times.small_seconds),
                         rates(static_cast<double>(times.large_bytes), times.large_seconds)});
      }
    }
    world.gather({});  // no pair starts while another still measures
  }
  return links;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

void check_started(const World& world) {
  if (world.num_started().value_or(0) > 1) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      text("--network measures between ranks that were started together, and ",
           world.num_started() ? "this is the only one" : "none were",
           "; start two or more: `mpirun -n 4 --host A:2,B:2 cmm check --network`, or on one host "
           "`cmm launch -n 2 -- cmm check --network`"));
}

}  // namespace

// Everybody but the last host sits in a circle and is paired with whom it faces across the axis
// that turns; who faces itself is paired with the last. With an odd number the last is missing.
int num_pair_rounds(int num_hosts) { return num_hosts + num_hosts % 2 - 1; }

int pair_partner(int host, int round, int num_hosts) {
  const int circle = num_pair_rounds(num_hosts);
  const int last = circle;
  int partner = -1;
  if (host == last) {
    // The one that faces itself: 2 * partner = round (mod circle), and circle is odd.
    partner = round % 2 == 0 ? round / 2 : (round + circle) / 2;
  } else {
    partner = ((round - host) % circle + circle) % circle;
    if (partner == host) partner = last;
  }
  return partner < num_hosts ? partner : -1;
}

Network NetworkMeasurement::network() const {
  Network network;
  network.bytes_per_second = bytes_per_second.median;
  network.latency_seconds = 0;
  for (const Link& link : links) {
    network.latency_seconds = std::max(network.latency_seconds, link.latency_seconds.median);
  }
  return network;
}

NetworkMeasurement measure_network(World& world) {
  together(world, [&] { check_started(world); });
  NetworkMeasurement result;
  Times times;
  std::vector<Link> links;
  Progress progress(world.reports());
  const int num_ranks = *world.num_started();
  world.run(num_ranks, kDefaultDeadline, [&](Rank& at) {
    result.hosts = at.axis().hosts();
    if (at.axis().num_hosts() > 1) {
      links = measure_links_to(world, result.hosts, at.rank(), progress);
    }
    progress.show("measuring", 1);
    times = time_gathers(at.axis(), [&](std::int64_t bytes) { return world.allocate(bytes); });
  });
  result.links = joined_values(world, links);
  std::sort(result.links.begin(), result.links.end(), [](const Link& a, const Link& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  const std::vector<std::string> names = world.gather(host_name());
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (result.hosts[rank] == static_cast<int>(result.host_names.size())) {
      result.host_names.push_back(names[rank]);
    }
  }
  result.latency_seconds = spread_of(longest(world, times.small_seconds));
  result.bytes_per_second =
      rates(shards_moved(result.hosts) * static_cast<double>(times.large_bytes),
            longest(world, times.large_seconds));
  return result;
}

}  // namespace cmm::cli
