// What a timeline shows of copies: their times are known once all have ended.
#pragma once

#include <utility>
#include <vector>

#include "sim/copy_engine.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::sim {

class CopySpans {
 public:
  // `copy` is its number in the engine; the span has no times yet.
  void add(int copy, TileSpan span) { started_.push_back({copy, std::move(span)}); }

  // When all copies have ended.
  void move_to(std::vector<TileSpan>& spans, const CopyEngine& engine) {
    for (Started& started : started_) {
      started.span.begin_seconds = engine.begin_seconds(started.copy);
      started.span.end_seconds = engine.end_seconds(started.copy);
      spans.push_back(std::move(started.span));
    }
    started_.clear();
  }

 private:
  struct Started {
    int copy = 0;
    TileSpan span;
  };
  std::vector<Started> started_;
};

}  // namespace cmm::sim
