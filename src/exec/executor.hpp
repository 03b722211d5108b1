// Runs one rank's side of a call: gathers with a schedule and a transport, multiplies what has
// arrived with all threads of the rank.
//
// The work goes in waves. A wave is the set of chunks that have arrived and are not yet packed;
// its rows are packed by all threads, then multiplied by all threads:
//
//   thread 0   wait, choose wave | pack | multiply blocks | wait, choose wave | ... | drain
//   thread 1                     | pack | multiply blocks |                   | ...
//
// Few rows (decode): every wave is packed, and one multiply after the last reads each weight once.
// Where a right side is a view of y, rows are packed into tiles all the same: the tiles' multiply
// packs y block by block in cache.
// Many rows (prefill): each wave is multiplied at once, its columns outermost, so that a weight is
// read once per wave; while all ranks of a host enter together, waves are as large as they may be.
//
// A call whose right sides belong to a library engine has waves too, but thread 0 alone works: it
// copies the rows of a wave side by side and hands them to the library in large blocks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/deadline.hpp"
#include "cmm/matrix.hpp"
#include "cmm/trace.hpp"
#include "exec/claims.hpp"
#include "exec/gather.hpp"
#include "exec/hook.hpp"
#include "exec/library_multiply.hpp"
#include "exec/team.hpp"
#include "exec/wave_queue.hpp"
#include "gemm/product.hpp"

namespace cmm::exec {

// One call as the executor sees it; everything is checked already.
struct Call {
  transport::CallHeader header;
  ConstMatrixRef x;  // [rows of this rank, k]
  std::int64_t m = 0;
  gemm::Product product;  // no sides: gather only
  MatrixRef gathered;     // [m, k]; data == nullptr: not wanted
};

class Executor {
 public:
  struct Config {
    Gather::Config gather;
    const gemm::Kernels* kernels = nullptr;
    DType dtype = DType::kF32;
    std::int64_t max_m = 0;
    std::int64_t k = 0;
    std::vector<std::int64_t> n_local;  // of each right side
    int num_threads = 1;
    std::chrono::milliseconds deadline{0};
    Trace* trace = nullptr;
  };
  // Allocates everything a call needs. Throws Error(kOutOfMemory).
  explicit Executor(const Config& config);

  Gather& gather() { return gather_; }
  std::int64_t workspace_bytes() const;
  void set_hook(const Hook& hook) { hook_ = hook; }

  // `partition` is that of call.m. Where it throws, this rank's peers may still wait for it or read
  // its rows: the caller must fail the endpoint, then end() and quiesce() the gather. Neither
  // allocates nor, but to wait, calls the system.
  void run(const Call& call, const schedule::Partition& partition);

 private:
  // What one thread packs at a time: some tiles of a part, or (decode) its rows over some steps.
  struct PackUnit {
    std::size_t part = 0;
    Range range;
  };
  // Neighbouring panels of one side whose accumulators one thread can hold.
  struct ColumnGroup {
    int side = 0;
    std::int64_t first_panel = 0;
    std::int64_t num_panels = 0;
  };
  struct alignas(64) Round {
    std::uint64_t value = 0;
  };

  bool decode() const;
  bool in_tiles() const { return in_tiles_; }
  ConstMatrixRef rows_of(const Part& part) const;
  std::byte* packed_part(const Part& part);
  void work(int thread) noexcept;
  void work_or_throw(int thread);

  // Thread 0, while the others wait at the barrier.
  void choose_wave();
  void await_wave();
  void list_packing(std::size_t part);
  void list_tiles(const std::byte* packed, Range rows);
  std::size_t num_column_sides() const;
  std::int64_t num_column_panels() const;
  void list_groups(std::int64_t group_panels);
  gemm::CallLimits tile_limits(std::int64_t num_tiles) const;
  std::int64_t even_group(std::int64_t max_panels) const;
  void plan_multiply();
  void drain();
  void look_at_peers();
  [[noreturn]] void miss_deadline(const Gather::Missing& missing) const;

  // Thread 0 alone; the team sleeps and the library brings its own.
  void run_with_library();
  void stage(const Part& part);
  void multiply_staged();

  // Every thread.
  void pack(int thread);
  void pack_unit(const PackUnit& unit);
  void copy_gathered(const Part& part, Range rows) const;
  void packed(const Part& part);
  void multiply(int thread);
  void multiply_block(int thread, const ColumnGroup& group, std::int64_t row_block, Range units);

  const Config config_;
  Hook hook_;
  Gather gather_;
  Team team_;
  AlignedBuffer packed_;                     // the rows of a wave
  std::vector<gemm::Workspace> workspaces_;  // one per thread
  LibraryMultiply library_;
  const std::int64_t num_steps_;  // of k

  // Of the running call.
  const Call* call_ = nullptr;
  bool in_tiles_ = false;              // how its rows are packed
  std::int64_t wait_for_rest_ns_ = 0;  // once as many rows have arrived as fill a wave
  const schedule::Partition* partition_ = nullptr;
  const Deadline* deadline_ = nullptr;
  std::int64_t looked_ns_ = 0;  // when thread 0 last looked at its peers' processes
  Barrier barrier_;
  std::vector<Round> rounds_;  // by thread: its meetings at the barrier so far
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;  // taken on failure only
  std::exception_ptr failure_;

  // Of the running wave; written by thread 0 between barriers.
  WaveQueue queue_;         // chunks that have arrived and wait for a wave
  std::vector<Part> wave_;  // one part a chunk at most
  std::vector<PackUnit> pack_units_;
  std::vector<std::atomic<int>> units_left_;  // by part: packing still to do
  std::vector<gemm::RowTile> tiles_;
  std::vector<ColumnGroup> groups_;
  std::int64_t num_row_blocks_ = 0;
  std::int64_t unit_panels_ = 0;
  std::int64_t units_per_block_ = 0;
  bool last_wave_ = false;
  bool multiply_wave_ = false;
  Claims pack_claims_;
  Claims multiply_claims_;
};

}  // namespace cmm::exec
