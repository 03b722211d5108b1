// Which rows of x belong to which shard and chunk. Rows are numbered globally, in rank order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/integers.hpp"
#include "schedule/schedule.hpp"

namespace cmm::schedule {

class Partition {
 public:
  // m rows over P shards: the first m % P get one more. Throws Error(kInvalidArgument) for m < 0.
  static Partition even(std::int64_t m, const Shape& shape);

  // rows_of_rank[r] rows for rank r; 0 is allowed. Throws Error(kInvalidArgument) unless there is
  // one entry per rank, none negative, and their sum an int64.
  static Partition uneven(std::span<const std::int64_t> rows_of_rank, const Shape& shape);

  // Becomes even(m, shape) for the shape it was made with, without allocating. m >= 0.
  void set_even(std::int64_t m);

  std::int64_t num_rows() const { return offsets_.back(); }
  Range shard(int rank) const { return {offsets_[rank], offsets_[rank + 1]}; }

  // `chunk` numbers as in Transfer. A shard's chunks are even parts of it, in order; chunks of a
  // shard with fewer rows than chunks may be empty.
  Range chunk(int chunk) const {
    const Range rows = shard(chunk / chunks_per_shard_);
    const Range part = even_part(rows.size(), chunks_per_shard_, chunk % chunks_per_shard_);
    return {rows.begin + part.begin, rows.begin + part.end};
  }

  std::int64_t largest_chunk() const;  // rows a slot must hold

 private:
  Partition(std::vector<std::int64_t> offsets, int chunks_per_shard)
      : offsets_(std::move(offsets)), chunks_per_shard_(chunks_per_shard) {}

  std::vector<std::int64_t> offsets_;  // [P + 1], first row of each shard; the last is m
  int chunks_per_shard_;
};

}  // namespace cmm::schedule
