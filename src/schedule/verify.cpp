#include "schedule/verify.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "schedule/replay.hpp"

namespace cmm::schedule {
namespace {

constexpr std::size_t kMaxViolations = 40;

std::string describe(const Transfer& t) {
  return cat("chunk ", t.chunk, " from rank ", t.from, " to rank ", t.to, " at step ", t.step);
}

bool within(int value, int least, int end) { return least <= value && value < end; }

class Verifier {
 public:
  Verifier(const Shape& shape, std::span<const RankSchedule> schedules)
      : shape_(shape), C_(chunks_per_shard(shape)), schedules_(schedules) {}

  Verdict run() {
    check_ranges();
    if (!verdict_.ok()) return verdict_;  // the checks below index with these numbers
    check_same_transfers();
    for (const RankSchedule& schedule : schedules_) {
      check_arrivals(schedule);
      check_slots(schedule);
      check_multiply_order(schedule);
    }
    check_sources();
    check_promise();
    for (const Walk walk : {Walk::kPull, Walk::kPush}) {
      const Replay result = replay(shape_, schedules_, walk);
      for (const std::string& text : result.violations) fail(text);
      for (const std::string& text : result.stalled) fail(text);
    }
    return verdict_;
  }

 private:
  template <class... Parts>
  void fail(const Parts&... parts) {
    if (verdict_.violations.size() < kMaxViolations) verdict_.violations.push_back(cat(parts...));
  }

  void check_ranges() {
    const int P = shape_.num_ranks;
    if (schedules_.size() != static_cast<std::size_t>(P))
      return fail("there are ", schedules_.size(), " schedules for ", P, " ranks");
    for (int rank = 0; rank < P; ++rank) {
      const RankSchedule& schedule = schedules_[rank];
      if (schedule.rank != rank) fail("schedule ", rank, " is of rank ", schedule.rank);
      if (schedule.num_slots < 0 || (shape_.num_slots > 0 && schedule.num_slots > shape_.num_slots))
        fail("rank ", rank, " asks for ", schedule.num_slots, " slots");
      for (const Transfer& t : schedule.receives) {
        check_range(t);
        if (t.to != rank) fail("rank ", rank, " receives ", describe(t));
      }
      for (const Transfer& t : schedule.sends) {
        check_range(t);
        if (t.from != rank) fail("rank ", rank, " sends ", describe(t));
      }
    }
  }

  void check_range(const Transfer& t) {
    const int P = shape_.num_ranks, num_chunks = P * C_;
    if (!within(t.from, 0, P) || !within(t.to, 0, P) || !within(t.chunk, 0, num_chunks))
      return fail(describe(t), " is out of range");
    if (t.step < 1) fail(describe(t), ": steps count from 1");
    if (t.from == t.to) fail(describe(t), " stays where it is");
    if (!within(t.write_slot, 0, schedules_[t.to].num_slots))
      fail(describe(t), " lands in slot ", t.write_slot, " of ", schedules_[t.to].num_slots);
    if (!within(t.read_slot, kNone, schedules_[t.from].num_slots))
      fail(describe(t), " is read from slot ", t.read_slot, " of ", schedules_[t.from].num_slots);
    if (!within(t.after, kNone, num_chunks)) fail(describe(t), " waits for chunk ", t.after);
  }

  void check_same_transfers() {
    const auto key = [](const Transfer& t) {
      return std::tie(t.to, t.chunk, t.from, t.step, t.read_slot, t.write_slot, t.after);
    };
    const auto less = [&](const Transfer& a, const Transfer& b) { return key(a) < key(b); };
    std::vector<Transfer> sent, received;
    for (const RankSchedule& schedule : schedules_) {
      sent.insert(sent.end(), schedule.sends.begin(), schedule.sends.end());
      received.insert(received.end(), schedule.receives.begin(), schedule.receives.end());
      for (const std::vector<Transfer>* list : {&schedule.sends, &schedule.receives})
        if (!std::ranges::is_sorted(*list, {}, &Transfer::step))
          fail("a list of rank ", schedule.rank, " is not in the order of the steps");
    }
    std::ranges::sort(sent, less);
    std::ranges::sort(received, less);
    std::vector<Transfer> only_one;
    std::ranges::set_symmetric_difference(sent, received, std::back_inserter(only_one), less);
    for (const Transfer& t : only_one)
      fail(describe(t), " is not the same in the sends of one and the receives of the other");
  }

  void check_arrivals(const RankSchedule& schedule) {
    std::vector<int> arrivals(shape_.num_ranks * C_, 0);
    for (int piece = 0; piece < C_; ++piece) arrivals[schedule.rank * C_ + piece] = 1;
    for (const Transfer& t : schedule.receives) ++arrivals[t.chunk];
    for (std::size_t chunk = 0; chunk < arrivals.size(); ++chunk)
      if (arrivals[chunk] != 1)
        fail("rank ", schedule.rank, " gets chunk ", chunk, " ", arrivals[chunk], " times");
  }

  // `after` must be what the slot holds: then waiting for it is enough.
  void check_slots(const RankSchedule& schedule) {
    std::vector<int> content(schedule.num_slots, kNone);
    for (const Transfer& t : schedule.receives) {
      if (content[t.write_slot] != t.after)
        fail(describe(t), " waits for chunk ", t.after, ", but slot ", t.write_slot,
             " holds chunk ", content[t.write_slot]);
      content[t.write_slot] = t.chunk;
    }
  }

  void check_multiply_order(const RankSchedule& schedule) {
    std::vector<int> step(shape_.num_ranks * C_, 0);  // of arrival; own chunks: 0
    for (const Transfer& t : schedule.receives) step[t.chunk] = t.step;
    std::vector<int> times(step.size(), 0);
    int latest = 0;
    int place = 0;
    for (const int chunk : schedule.multiply_order) {
      if (!within(chunk, 0, static_cast<int>(step.size())))
        return fail("rank ", schedule.rank, " multiplies chunk ", chunk, ", which does not exist");
      ++times[chunk];
      if (place++ < C_ && chunk / C_ != schedule.rank)
        fail("rank ", schedule.rank, " multiplies chunk ", chunk, " before its own shard");
      if (step[chunk] < latest)
        fail("rank ", schedule.rank, " multiplies chunk ", chunk, " after later arrivals");
      latest = std::max(latest, step[chunk]);
    }
    for (std::size_t chunk = 0; chunk < times.size(); ++chunk)
      if (times[chunk] != 1)
        fail("rank ", schedule.rank, " multiplies chunk ", chunk, " ", times[chunk], " times");
  }

  // The sender owns the chunk, or got it at an earlier step into the slot it sends it from.
  void check_sources() {
    struct Arrival {
      int step = 0;
      int slot = kNone;
    };
    const std::size_t num_chunks = shape_.num_ranks * C_;
    std::vector<Arrival> arrivals(shape_.num_ranks * num_chunks);
    for (const RankSchedule& schedule : schedules_)
      for (const Transfer& t : schedule.receives)
        arrivals[t.to * num_chunks + t.chunk] = {t.step, t.write_slot};
    for (const RankSchedule& schedule : schedules_)
      for (const Transfer& t : schedule.receives) {
        const Arrival source = arrivals[t.from * num_chunks + t.chunk];
        const bool owned = t.chunk / C_ == t.from;
        if (!owned && (source.step == 0 || source.step >= t.step))
          fail(describe(t), ": the sender does not have it by then");
        if (t.read_slot != source.slot)
          fail(describe(t), " is read from slot ", t.read_slot, " but landed in ", source.slot);
      }
  }

  void check_promise() {
    int num_steps = 0;
    for (const RankSchedule& schedule : schedules_)
      for (const Transfer& t : schedule.receives) {
        num_steps = std::max(num_steps, t.step);
        const int P = shape_.num_ranks, forward = (t.from + 1) % P, backward = (t.to + 1) % P;
        if (shape_.algorithm == Algorithm::kDirect && t.from != t.chunk / C_)
          fail(describe(t), " does not come from its owner");
        if (shape_.algorithm == Algorithm::kRing && t.to != forward)
          fail(describe(t), " does not go to the next rank");
        if (shape_.algorithm == Algorithm::kBidirectional &&
            (t.chunk % C_ < C_ / 2 ? t.to != forward : t.from != backward))
          fail(describe(t), " does not travel in its half's direction");
      }
    if (shape_.algorithm == Algorithm::kRecursiveDoubling &&
        num_steps != static_cast<int>(std::bit_width(static_cast<unsigned>(shape_.num_ranks - 1))))
      fail("there are ", num_steps, " steps for ", shape_.num_ranks, " ranks");
    if (shape_.algorithm == Algorithm::kHierarchical)
      for (int host = 0; host < shape_.num_hosts; ++host) check_host(host);
  }

  void check_host(int host) {
    const Range ranks = even_part(shape_.num_ranks, shape_.num_hosts, host);
    const auto inside = [&](int rank) { return ranks.begin <= rank && rank < ranks.end; };
    std::vector<int> entries(shape_.num_ranks * C_, 0);
    std::vector<int> fetches;
    for (int rank = static_cast<int>(ranks.begin); inside(rank); ++rank) {
      fetches.push_back(0);
      for (const Transfer& t : schedules_[rank].receives) {
        if (inside(t.from)) continue;
        ++fetches.back();
        ++entries[t.chunk];
        if (t.from != t.chunk / C_) fail(describe(t), " crosses hosts, but not from its owner");
      }
    }
    for (std::size_t chunk = 0; chunk < entries.size(); ++chunk)
      if (entries[chunk] != (inside(static_cast<int>(chunk) / C_) ? 0 : 1))
        fail("chunk ", chunk, " enters host ", host, " ", entries[chunk], " times");
    const auto [least, most] = std::ranges::minmax(fetches);
    if (most - least > 1)
      fail("ranks of host ", host, " fetch between ", least, " and ", most, " chunks");
  }

  const Shape shape_;
  const int C_;
  std::span<const RankSchedule> schedules_;
  Verdict verdict_;
};

}  // namespace

Verdict verify(const Shape& shape, std::span<const RankSchedule> schedules) {
  check_shape(shape);
  return Verifier(shape, schedules).run();
}

Verdict verify(const Shape& shape) {
  check_shape(shape);
  std::vector<RankSchedule> schedules;
  for (int rank = 0; rank < shape.num_ranks; ++rank)
    schedules.push_back(make_rank_schedule(shape, rank));
  return verify(shape, schedules);
}

}  // namespace cmm::schedule
