#include "schedule/partition.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::schedule {

Partition Partition::even(std::int64_t m, const Shape& shape) {
  if (m < 0) throw Error(ErrorCode::kInvalidArgument, cat("m is ", m, "; it must be 0 or more"));
  Partition partition(std::vector<std::int64_t>(static_cast<std::size_t>(shape.num_ranks) + 1),
                      chunks_per_shard(shape));
  partition.set_even(m);
  return partition;
}

void Partition::set_even(std::int64_t m) {
  const auto num_ranks = static_cast<std::int64_t>(offsets_.size()) - 1;
  for (std::int64_t rank = 0; rank < num_ranks; ++rank)
    offsets_[static_cast<std::size_t>(rank) + 1] = even_part(m, num_ranks, rank).end;
}

Partition Partition::uneven(std::span<const std::int64_t> rows_of_rank, const Shape& shape) {
  if (rows_of_rank.size() != static_cast<std::size_t>(shape.num_ranks))
    throw Error(ErrorCode::kInvalidArgument, cat("rows are given for ", rows_of_rank.size(),
                                                 " ranks; there are ", shape.num_ranks));
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t rows : rows_of_rank) {
    const auto rank = offsets.size() - 1;
    if (rows < 0)
      throw Error(ErrorCode::kInvalidArgument,
                  cat("rank ", rank, " has ", rows, " rows; it must have 0 or more"));
    if (rows > std::numeric_limits<std::int64_t>::max() - offsets.back())
      throw Error(ErrorCode::kInvalidArgument, cat("rank ", rank, " has ", rows,
                                                   " rows, with which the sum over all ranks "
                                                   "leaves the range of a 64-bit integer"));
    offsets.push_back(offsets.back() + rows);
  }
  return {std::move(offsets), chunks_per_shard(shape)};
}

std::int64_t Partition::largest_chunk() const {
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank + 1 < offsets_.size(); ++rank)
    most = std::max(most, offsets_[rank + 1] - offsets_[rank]);
  return even_part(most, chunks_per_shard_, 0).size();
}

}  // namespace cmm::schedule
