// What a plan chooses: the algorithm, the pieces and the slots. Every input is the same on all
// ranks, so the choice is.
#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>

#include "api/gather_cost.hpp"
#include "api/plan_state.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"

namespace cmm {
namespace api {
namespace {

// Chunks of this size hide their latency and still overlap (256 KiB to 1 MiB were measured alike).
constexpr std::int64_t kChunkBytes = std::int64_t{512} << 10;
// Where chunks are only copied; between hosts a shard has as many as it needs, within reason.
constexpr int kMaxCopiedPieces = 16;
constexpr int kMaxSentPieces = 256;
// A small shard between hosts is cut too, or much is left to multiply when the last chunk has come:
// a transfer of 7 ms (1 MiB, 1 Gbit/s) and a product of 5 took 8.1 ms with 2 pieces, 7.3 with 8.
constexpr int kMinSentPieces = 8;
constexpr std::int64_t kMinChunkBytes = std::int64_t{64} << 10;
// A slot of its own for every chunk keeps a link busy whatever the multiply does; this much memory
// a plan may take for it.
constexpr std::int64_t kSlotBytes = std::int64_t{256} << 20;

using schedule::Algorithm;

constexpr std::array kInOrderOfTaste = {Algorithm::kDirect, Algorithm::kHierarchical,
                                        Algorithm::kRecursiveDoubling, Algorithm::kBidirectional,
                                        Algorithm::kRing};

std::string rate_text(const Network& network) {
  std::ostringstream text;
  text << std::setprecision(3) << network.bytes_per_second / 1e9 << " GB/s and "
       << network.latency_seconds * 1e6 << " us";
  return std::move(text).str();
}

struct Candidate {
  Algorithm algorithm = Algorithm::kDirect;
  double seconds = 0;
};

std::vector<Candidate> candidates(const std::vector<int>& hosts, const Network& network,
                                  std::int64_t shard_bytes) {
  std::vector<Candidate> all;
  for (const Algorithm algorithm : kInOrderOfTaste) {
    if (algorithm == Algorithm::kHierarchical && !hosts_are_even_and_consecutive(hosts)) continue;
    all.push_back({algorithm, gather_cost(algorithm, hosts).seconds(network, shard_bytes)});
  }
  return all;
}

std::string reason_of(const std::vector<int>& hosts, const Network& network,
                      const std::vector<Candidate>& all) {
  std::ostringstream text;
  text << std::setprecision(3) << num_hosts(hosts) << " hosts, each with a link of "
       << rate_text(network) << " a message; expected of the gather alone:";
  for (const Candidate& one : all) {
    text << (one.algorithm == all.front().algorithm ? " " : ", ")
         << schedule::algorithm_name(one.algorithm) << " " << one.seconds * 1e3 << " ms";
  }
  if (!hosts_are_even_and_consecutive(hosts)) {
    text << "; not hierarchical, which needs consecutive ranks on each host, of numbers that "
            "differ by one at most";
  }
  return std::move(text).str();
}

Algorithm to_schedule(cmm::Algorithm algorithm) {
  switch (algorithm) {
    case cmm::Algorithm::kRing:
      return Algorithm::kRing;
    case cmm::Algorithm::kBidirectional:
      return Algorithm::kBidirectional;
    case cmm::Algorithm::kRecursiveDoubling:
      return Algorithm::kRecursiveDoubling;
    case cmm::Algorithm::kHierarchical:
      return Algorithm::kHierarchical;
    case cmm::Algorithm::kAuto:
    case cmm::Algorithm::kDirect:
      break;
  }
  return Algorithm::kDirect;
}

void choose_algorithm(Choice& choice, const Options& options, const std::vector<int>& hosts,
                      std::int64_t shard_bytes) {
  choice.schedule.algorithm = to_schedule(options.algorithm);
  if (options.algorithm != cmm::Algorithm::kAuto) {
    choice.reason = "named by the caller";
  } else if (hosts.size() == 1) {
    choice.reason = "one rank holds all of x";
  } else if (num_hosts(hosts) == 1) {
    choice.reason =
        "all ranks are on one host: each reads its peers' rows where they lie, and any algorithm "
        "that copies would only add the copy";
  } else {
    const std::vector<Candidate> all = candidates(hosts, options.network, shard_bytes);
    choice.schedule.algorithm =
        std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
          return a.seconds < b.seconds;
        })->algorithm;
    choice.reason = reason_of(hosts, options.network, all);
  }
}

}  // namespace

cmm::Algorithm to_public(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kDirect:
      return cmm::Algorithm::kDirect;
    case Algorithm::kRing:
      return cmm::Algorithm::kRing;
    case Algorithm::kBidirectional:
      return cmm::Algorithm::kBidirectional;
    case Algorithm::kRecursiveDoubling:
      return cmm::Algorithm::kRecursiveDoubling;
    case Algorithm::kHierarchical:
      break;
  }
  return cmm::Algorithm::kHierarchical;
}

std::int64_t largest_shard_bytes(const ProblemShape& shape, int num_ranks) {
  const std::int64_t rows = shape.rows.empty()
                                ? ceil_div(shape.m, num_ranks)
                                : *std::max_element(shape.rows.begin(), shape.rows.end());
  return rows * shape.k * static_cast<std::int64_t>(dtype_bytes(shape.dtype));
}

void check_hosts(const Options& options, const std::vector<int>& hosts) {
  if (options.algorithm != cmm::Algorithm::kHierarchical || options.hosts != 0 ||
      hosts_are_even_and_consecutive(hosts)) {
    return;
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      cat("hierarchical needs consecutive ranks on each host, of numbers that differ by one "
          "at most; the ranks of this axis are on hosts ",
          joined(hosts, ","), " (place them so, or take another algorithm)"));
}

Choice choose(const ProblemShape& shape, const Options& options, const std::vector<int>& hosts) {
  const auto num_ranks = static_cast<int>(hosts.size());
  const std::int64_t row_bytes = shape.k * static_cast<std::int64_t>(dtype_bytes(shape.dtype));
  const std::int64_t shard_bytes = largest_shard_bytes(shape, num_ranks);
  Choice choice;
  choice.schedule = {.num_ranks = num_ranks, .num_pieces = std::max(options.pieces, 1)};
  choose_algorithm(choice, options, hosts, shard_bytes);
  const bool one_host = num_hosts(hosts) == 1;
  const bool hierarchical = choice.schedule.algorithm == Algorithm::kHierarchical;
  choice.schedule.num_hosts = options.hosts != 0 ? options.hosts
                              : hierarchical     ? num_hosts(hosts)
                                                 : 1;
  const bool in_place = one_host && choice.schedule.algorithm == Algorithm::kDirect;
  if (!in_place && options.pieces == 0) {
    std::int64_t pieces = std::min<std::int64_t>(shard_bytes / kChunkBytes,
                                                 one_host ? kMaxCopiedPieces : kMaxSentPieces);
    if (!one_host) {
      pieces =
          std::max(pieces, std::min<std::int64_t>(kMinSentPieces, shard_bytes / kMinChunkBytes));
    }
    choice.schedule.num_pieces = static_cast<int>(std::max<std::int64_t>(pieces, 1));
  }
  if (!one_host) {
    const int received = schedule::received_chunks(choice.schedule);
    const std::int64_t chunk_bytes =
        ceil_div(shard_bytes, schedule::chunks_per_shard(choice.schedule));
    if (received * (chunk_bytes + row_bytes) <= kSlotBytes) choice.schedule.num_slots = received;
  }
  return choice;
}

}  // namespace api

std::string_view algorithm_name(Algorithm algorithm) {
  return algorithm == Algorithm::kAuto ? "auto"
                                       : schedule::algorithm_name(api::to_schedule(algorithm));
}

Algorithm parse_algorithm(std::string_view name) {
  constexpr std::array kKnown = {Algorithm::kAuto,
                                 Algorithm::kDirect,
                                 Algorithm::kRing,
                                 Algorithm::kBidirectional,
                                 Algorithm::kRecursiveDoubling,
                                 Algorithm::kHierarchical};
  const auto at = std::ranges::find(kKnown, name, algorithm_name);
  if (at != kKnown.end()) return *at;
  throw Error(ErrorCode::kInvalidArgument, cat("unknown algorithm '", name, "'; known are ",
                                               joined(kKnown, ", ", algorithm_name)));
}

Algorithm Plan::algorithm() const { return api::to_public(state().choice().schedule.algorithm); }

}  // namespace cmm
