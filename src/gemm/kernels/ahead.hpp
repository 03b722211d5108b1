// A block of rows that a kernel asks for while it computes on the block before.
// Internal linkage: each file that includes this is compiled for another instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gemm/fetch.hpp"

namespace cmm::gemm {
namespace {

// Fetches runs of bytes to L2 in the order they lie. Where a run enters a page the processor has
// looked the page up already (DecodeView in decode.cpp), so one stream does: four, of which each
// had a fourth of the runs, took up to 1.2 times as long on Zen 4.
class Ahead {
 public:
  struct Block {
    const std::byte* begin = nullptr;  // nullptr: nothing is wanted
    std::int64_t run_bytes = 0;
    std::int64_t num_runs = 0;
    std::int64_t stride = 0;  // bytes from run to run
  };
  // `idle`: memory that may be asked for when nothing else is.
  Ahead(const Block& block, const void* idle)
      : line_(static_cast<const std::byte*>(idle)), run_end_(line_) {
    if (block.begin == nullptr || block.num_runs == 0) return;
    line_ = block.begin;
    run_end_ = line_ + block.run_bytes;
    run_bytes_ = block.run_bytes;
    stride_ = block.stride;
    runs_left_ = block.num_runs - 1;
  }

  // A line.
  [[gnu::always_inline]] void fetch() {
    fetch_line(line_);
    line_ += kLineBytes;
    if (line_ >= run_end_) next_run();
  }

 private:
  // At the end it stays at the last line, which is cheap to ask for again.
  void next_run() {
    if (runs_left_ == 0) {
      line_ -= kLineBytes;
      return;
    }
    --runs_left_;
    run_end_ += stride_;
    line_ = run_end_ - run_bytes_;
  }

  const std::byte* line_;
  const std::byte* run_end_;
  std::int64_t run_bytes_ = 0;
  std::int64_t stride_ = 0;
  std::int64_t runs_left_ = 0;
};

}  // namespace
}  // namespace cmm::gemm
