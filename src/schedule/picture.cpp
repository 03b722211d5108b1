#include "schedule/picture.hpp"

#include <algorithm>
#include <vector>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::schedule {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string counted(int count, const char* noun) {
  return cat(", ", count, " ", noun, count == 1 ? "" : "s");
}

class Painter {
 public:
  explicit Painter(const Shape& shape) : shape_(shape), chunks_per_shard_(chunks_per_shard(shape)) {
    for (int rank = 0; rank < shape.num_ranks; ++rank)
      schedules_.push_back(make_rank_schedule(shape, rank));
  }

  std::string paint() const {
    std::string text = title() + "\n" + padded("step", kStepWidth);
    for (int rank = 0; rank < shape_.num_ranks; ++rank)
      text += padded(cat("rank ", rank), kCellWidth);
    text = without_trailing_spaces(std::move(text)) + "\n";

    std::vector<std::vector<std::string>> columns;  // [P][lines of the step], own shards first
    for (const RankSchedule& schedule : schedules_) {
      columns.emplace_back();
      for (int piece = 0; piece < chunks_per_shard_; ++piece)
        columns.back().push_back(chunk_name(schedule.rank * chunks_per_shard_ + piece));
    }
    append_step(text, 0, columns);
    for (int step = 1; step <= num_steps(); ++step) {
      for (std::size_t rank = 0; rank < columns.size(); ++rank) {
        columns[rank].clear();
        for (const Transfer& t : schedules_[rank].receives)
          if (t.step == step) columns[rank].push_back(arrival(t));
      }
      append_step(text, step, columns);
    }
    return text;
  }

 private:
  static constexpr std::size_t kStepWidth = 6;
  static constexpr std::size_t kCellWidth = 9;

  std::string title() const {
    std::string text = cat(algorithm_name(shape_.algorithm), counted(shape_.num_ranks, "rank"));
    if (shape_.num_hosts > 1) text += counted(shape_.num_hosts, "host");
    if (chunks_per_shard_ > 1) text += counted(chunks_per_shard_, "chunk") + " per shard";
    return text;
  }

  int num_steps() const {
    int most = 0;
    for (const RankSchedule& schedule : schedules_)
      for (const Transfer& t : schedule.receives) most = std::max(most, t.step);
    return most;
  }

  std::string chunk_name(int chunk) const {
    return chunks_per_shard_ == 1 ? cat(chunk)
                                  : cat(chunk / chunks_per_shard_, ".", chunk % chunks_per_shard_);
  }

  std::string arrival(const Transfer& t) const {
    return cat(chunk_name(t.chunk), host_of(t.from) == host_of(t.to) ? "<" : "<<", t.from);
  }

  int host_of(int rank) const {
    int host = 0;
    while (even_part(shape_.num_ranks, shape_.num_hosts, host).end <= rank) ++host;
    return host;
  }

  static std::string without_trailing_spaces(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  static void append_step(std::string& text, int step,
                          const std::vector<std::vector<std::string>>& columns) {
    std::size_t num_lines = 0;
    for (const auto& column : columns) num_lines = std::max(num_lines, column.size());
    for (std::size_t line = 0; line < num_lines; ++line) {
      std::string row = padded(line == 0 ? cat(step) : "", kStepWidth);
      for (const auto& column : columns)
        row += padded(line < column.size() ? column[line] : "", kCellWidth);
      text += without_trailing_spaces(std::move(row)) + "\n";
    }
  }

  const Shape shape_;
  const int chunks_per_shard_;
  std::vector<RankSchedule> schedules_;
};

}  // namespace

std::string picture(const Shape& shape) {
  check_shape(shape);
  if (shape.num_ranks > kMaxPictureRanks)
    throw Error(ErrorCode::kInvalidArgument, cat("num_ranks is ", shape.num_ranks,
                                                 "; a picture shows at most ", kMaxPictureRanks));
  return Painter(shape).paint();
}

}  // namespace cmm::schedule
