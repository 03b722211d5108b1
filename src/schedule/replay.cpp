#include "schedule/replay.hpp"

#include <cstddef>

#include "base/text.hpp"

namespace cmm::schedule {
namespace {

class Replayer {
 public:
  Replayer(const Shape& shape, std::span<const RankSchedule> schedules, Walk walk)
      : chunks_per_shard_(chunks_per_shard(shape)),
        num_chunks_(schedule::num_chunks(shape)),
        schedules_(schedules),
        walk_(walk),
        next_(schedules.size(), 0),
        chunks_(schedules.size() * num_chunks_),
        slots_(schedules.size()) {
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      slots_[rank].assign(schedules[rank].num_slots, kNone);
      for (const Transfer& t : schedules[rank].sends) ++at(t.from, t.chunk).sends_left;
      for (int piece = 0; piece < chunks_per_shard_; ++piece)
        at(static_cast<int>(rank), static_cast<int>(rank) * chunks_per_shard_ + piece).here = true;
    }
  }

  Replay run() {
    for (bool moved = true; moved;) moved = move_all() || multiply_what_is_waited_for();
    result_.completed = true;
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (next_[rank] == list(rank).size()) continue;
      result_.completed = false;
      result_.stalled.push_back(describe(list(rank)[next_[rank]]));
    }
    return std::move(result_);
  }

 private:
  // A chunk as one rank sees it.
  struct Chunk {
    bool here = false;
    bool multiplied = false;
    int sends_left = 0;
  };
  Chunk& at(int rank, int chunk) {
    return chunks_[static_cast<std::size_t>(rank) * num_chunks_ + chunk];
  }
  const std::vector<Transfer>& list(std::size_t rank) const {
    return walk_ == Walk::kPull ? schedules_[rank].receives : schedules_[rank].sends;
  }
  bool slot_is_free(const Transfer& t) {
    return t.after == kNone || (at(t.to, t.after).multiplied && at(t.to, t.after).sends_left == 0);
  }

  bool move_all() {
    bool moved = false;
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank)
      for (; next_[rank] < list(rank).size(); ++next_[rank]) {
        const Transfer& t = list(rank)[next_[rank]];
        if (!at(t.from, t.chunk).here || !slot_is_free(t)) break;
        copy(t);
        moved = true;
      }
    return moved;
  }

  void copy(const Transfer& t) {
    if (t.read_slot != kNone && slots_[t.from][t.read_slot] != t.chunk)
      result_.violations.push_back(cat("rank ", t.from, " sends chunk ", t.chunk, " to rank ", t.to,
                                       " from slot ", t.read_slot, ", which holds chunk ",
                                       slots_[t.from][t.read_slot]));
    int& content = slots_[t.to][t.write_slot];
    if (content != kNone && !(at(t.to, content).multiplied && at(t.to, content).sends_left == 0))
      result_.violations.push_back(cat("chunk ", t.chunk, " overwrites chunk ", content,
                                       " in slot ", t.write_slot, " of rank ", t.to,
                                       " before its last read"));
    content = t.chunk;
    at(t.to, t.chunk).here = true;
    --at(t.from, t.chunk).sends_left;
  }

  bool multiply_what_is_waited_for() {
    bool multiplied = false;
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (next_[rank] == list(rank).size()) continue;
      const Transfer& t = list(rank)[next_[rank]];
      if (t.after == kNone) continue;
      Chunk& chunk = at(t.to, t.after);
      if (!chunk.here || chunk.multiplied) continue;
      chunk.multiplied = multiplied = true;
    }
    return multiplied;
  }

  std::string describe(const Transfer& t) {
    const std::string what = cat(walk_ == Walk::kPull ? "pull" : "push", " of chunk ", t.chunk,
                                 " from rank ", t.from, " to rank ", t.to, " at step ", t.step);
    if (!at(t.from, t.chunk).here) return cat(what, " stalls: rank ", t.from, " lacks the chunk");
    return cat(what, " stalls: slot ", t.write_slot, " still holds chunk ", t.after);
  }

  int chunks_per_shard_;
  int num_chunks_;
  std::span<const RankSchedule> schedules_;
  Walk walk_;
  std::vector<std::size_t> next_;        // [P], first transfer of list(rank) not yet done
  std::vector<Chunk> chunks_;            // [P, num_chunks]
  std::vector<std::vector<int>> slots_;  // [P][num_slots], chunk each holds
  Replay result_;
};

}  // namespace

Replay replay(const Shape& shape, std::span<const RankSchedule> schedules, Walk walk) {
  return Replayer(shape, schedules, walk).run();
}

}  // namespace cmm::schedule
