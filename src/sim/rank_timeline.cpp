#include "sim/rank_timeline.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "schedule/rotation.hpp"

namespace cmm::sim {
namespace {

class Ranks {
 public:
  Ranks(const RankTimes& times, const schedule::Shape& shape) : times_(times), shape_(shape) {}

  TimelineGroup group(int rank) const {
    TimelineGroup group{cat("rank ", rank),
                        {{"multiply", products(rank)},
                         {"receives", transfers(rank, Which::kReceives)},
                         {"sends", transfers(rank, Which::kSends)},
                         {"waits", waits(rank)}}};
    std::vector<TimelineSpan> looks = transfers(rank, Which::kLooks);
    if (!looks.empty()) group.lanes.push_back({"read in place", std::move(looks)});
    return group;
  }

 private:
  enum class Which { kReceives, kSends, kLooks };

  int walked(int rank) const { return rank % times_.num_walked; }

  // As in the pictures of schedules: "2.1" is chunk 1 of shard 2.
  std::string chunk_text(int chunk) const {
    const int C = schedule::chunks_per_shard(shape_);
    return C == 1 ? cat(chunk) : cat(chunk / C, ".", chunk % C);
  }

  std::vector<TimelineSpan> products(int rank) const {
    std::vector<TimelineSpan> spans;
    const int num_chunks = schedule::num_chunks(shape_);
    const int by = (rank - walked(rank)) * schedule::chunks_per_shard(shape_);
    for (const WalkedProduct& product : times_.products) {
      if (product.rank != walked(rank)) continue;
      const int first = (product.chunks.front() + by) % num_chunks;
      const std::size_t more = product.chunks.size() - 1;
      spans.push_back(
          {SpanKind::kMultiply, product.begin_seconds, product.end_seconds,
           more == 0 ? chunk_text(first) : cat(chunk_text(first), " and ", more, " more")});
    }
    return spans;
  }

  SpanKind kind_of(const schedule::Transfer& t) const {
    const int P = shape_.num_ranks;
    if (P > 2 && t.to == (t.from + 1) % P) return SpanKind::kForward;
    if (P > 2 && t.from == (t.to + 1) % P) return SpanKind::kBackward;
    return SpanKind::kTransfer;
  }

  // A receive lasts until the chunk is there, a send until its last byte has left.
  std::vector<TimelineSpan> transfers(int rank, Which which) const {
    std::vector<TimelineSpan> spans;
    const bool sends = which == Which::kSends;
    for (const WalkedTransfer& one : times_.transfers) {
      const int end = sends ? one.transfer.from : one.transfer.to;
      if (walked(end) != walked(rank) || one.in_place != (which == Which::kLooks)) continue;
      const int by = (rank - end + shape_.num_ranks) % shape_.num_ranks;
      const schedule::Transfer t = schedule::turned(shape_, one.transfer, by);
      spans.push_back(
          {kind_of(t), one.begin_seconds, sends ? one.left_seconds : one.end_seconds,
           cat(chunk_text(t.chunk), sends ? " to rank " : " from rank ", sends ? t.to : t.from)});
    }
    return spans;
  }

  // One span for what is of one cause, though more than one thing happened meanwhile.
  std::vector<TimelineSpan> waits(int rank) const {
    std::vector<TimelineSpan> spans;
    for (const WalkedIdle& idle : times_.idles) {
      if (idle.rank != walked(rank)) continue;
      const std::string text(idle_name(idle.idle));
      if (!spans.empty() && spans.back().end_seconds == idle.begin_seconds &&
          spans.back().text == text)
        spans.back().end_seconds = idle.end_seconds;
      else
        spans.push_back({SpanKind::kWait, idle.begin_seconds, idle.end_seconds, text});
    }
    return spans;
  }

  const RankTimes& times_;
  const schedule::Shape& shape_;
};

}  // namespace

Timeline rank_timeline(const RankTimes& times, const schedule::Shape& shape) {
  const int P = shape.num_ranks, last = times.last_rank;
  std::vector<int> shown = {last};
  if (P > 2) shown.insert(shown.begin(), (last + P - 1) % P);
  if (P > 1) shown.push_back((last + 1) % P);
  Timeline timeline;
  const Ranks ranks(times, shape);
  for (const int rank : shown) timeline.groups.push_back(ranks.group(rank));
  return timeline;
}

}  // namespace cmm::sim
