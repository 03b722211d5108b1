#include "schedule/rotation.hpp"

#include "base/check.hpp"

namespace cmm::schedule {
namespace {

// Additions instead of a division for each number: turns() compares tens of millions of transfers.
class Turn {
 public:
  Turn(const Shape& shape, int ranks)
      : num_ranks_(shape.num_ranks),
        num_chunks_(num_chunks(shape)),
        ranks_(ranks),
        chunks_(ranks * chunks_per_shard(shape)) {}

  Transfer operator()(Transfer t) const {
    t.chunk = chunk(t.chunk);
    t.from = rank(t.from);
    t.to = rank(t.to);
    if (t.after != kNone) t.after = chunk(t.after);
    return t;
  }

 private:
  int rank(int r) const { return r + ranks_ < num_ranks_ ? r + ranks_ : r + ranks_ - num_ranks_; }
  int chunk(int c) const {
    return c + chunks_ < num_chunks_ ? c + chunks_ : c + chunks_ - num_chunks_;
  }
  int num_ranks_, num_chunks_, ranks_, chunks_;
};

}  // namespace

Transfer turned(const Shape& shape, const Transfer& transfer, int ranks) {
  return Turn(shape, ranks)(transfer);
}

bool turns(const Shape& shape, int period) {
  check_shape(shape);
  CMM_DCHECK(period >= 1 && shape.num_ranks % period == 0);
  for (int first = 0; first < period; ++first) {
    const std::vector<Transfer> receives = make_receives(shape, first);
    for (int rank = first + period; rank < shape.num_ranks; rank += period) {
      const Turn turn(shape, rank - first);
      const std::vector<Transfer> there = make_receives(shape, rank);
      if (there.size() != receives.size()) return false;
      for (std::size_t i = 0; i < there.size(); ++i)
        if (!(turn(receives[i]) == there[i])) return false;
    }
  }
  return true;
}

}  // namespace cmm::schedule
