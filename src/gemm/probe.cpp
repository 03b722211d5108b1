#include "gemm/probe.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

// Measures work(count), which returns the operations done, in runs of a millisecond or more:
// the processor time of shorter ones is off by up to a third where the machine is shared.
template <class Work>
class BestRate {
 public:
  explicit BestRate(Work work) : work_(work) {
    while (run() < 1e-3) count_ *= 2;
  }
  // One more run. Returns its seconds.
  double run() {
    const double start = thread_cpu_seconds();
    const double done = work_(count_);
    const double seconds = thread_cpu_seconds() - start;
    if (seconds >= 1e-3) best_ = std::max(best_, done / seconds);
    return seconds;
  }
  double best() const { return best_; }

 private:
  Work work_;
  std::int64_t count_ = 64;
  double best_ = 0;
};

// Keeps `value` and all memory as results that somebody might read.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Numbers of both signs with varied digits, the same as f32 and as two bf16: magnitudes near 0.01.
void fill(AlignedBuffer& buffer) {
  std::uint32_t random = 1;
  for (std::int64_t i = 0; i < buffer.bytes() / 4; ++i) {
    random = random * 1664525u + 1013904223u;
    buffer.as<std::uint32_t>()[i] = 0x3c003c00u | (random & 0x807f807fu);
  }
}

// The operands of a 6 x 64 tile over one k block.
class L1Tile {
 public:
  explicit L1Tile(const TypeKernels& type)
      : type_(type),
        panels_(2 * kPanelBytes),
        x_(std::int64_t{kBlockSteps} * kTileRows * 4),
        acc_(std::int64_t{kTileRows} * kPairColumns * 4) {
    fill(panels_);
    fill(x_);
    fill(acc_);
  }

  // Returns the operations done.
  double multiply(std::int64_t num_tiles) {
    const TileArgs args = {.x = x_.data(),
                           .panel0 = panels_.data(),
                           .panel1 = panels_.data() + kPanelBytes,
                           .num_steps = kBlockSteps,
                           .acc_in = acc_.as<float>(),
                           .acc_out = acc_.as<float>()};
    for (std::int64_t i = 0; i < num_tiles; ++i) type_.tile[kTileRows](args);
    keep(acc_);
    return (type_.bf16_pairs ? 4.0 : 2.0) * kTileRows * kPairColumns * kBlockSteps *
           static_cast<double>(num_tiles);
  }

 private:
  static constexpr std::int64_t kPanelBytes = std::int64_t{kBlockSteps} * 128;

  const TypeKernels& type_;
  AlignedBuffer panels_;
  AlignedBuffer x_;
  AlignedBuffer acc_;
};

double multiply_registers(const TypeKernels& type, std::int64_t rounds) {
  const float sum = type.register_loop(rounds);
  keep(sum);
  return static_cast<double>(rounds) * type.register_loop_flops;
}

// As the decode kernels read: rows of 128 bytes, several streams in turn, 8 KB prefetched ahead in
// all. Without the prefetches a Zen 5 core reads 15 % less, which is less than decode reaches.
using Words = std::uint64_t __attribute__((vector_size(16)));
constexpr std::int64_t kVisitBytes = 128;
constexpr std::int64_t kAheadBytes = 8192;

template <int num_streams>
void read_streams(const std::byte* data, std::int64_t stream_bytes) {
  constexpr std::size_t kWords = kVisitBytes / sizeof(Words);
  Words all[kWords] = {};  // a chain each, so that none of them sets the pace
  for (std::int64_t offset = 0; offset < stream_bytes; offset += kVisitBytes) {
    CMM_UNROLL
    for (int s = 0; s < num_streams; ++s) {
      const std::byte* row = data + s * stream_bytes + offset;
      __builtin_prefetch(row + kAheadBytes / num_streams);
      __builtin_prefetch(row + kAheadBytes / num_streams + 64);
      const auto* words = reinterpret_cast<const Words*>(row);
      CMM_UNROLL
      for (std::size_t w = 0; w < kWords; ++w) all[w] |= words[w];
    }
  }
  keep(all);
}

void read_streams(const std::byte* data, std::int64_t stream_bytes, int num_streams) {
  switch (num_streams) {
    case 1:
      return read_streams<1>(data, stream_bytes);
    case 2:
      return read_streams<2>(data, stream_bytes);
    case 4:
      return read_streams<4>(data, stream_bytes);
    case 8:
      return read_streams<8>(data, stream_bytes);
    default:
      return read_streams<16>(data, stream_bytes);
  }
}

// A buffer of `bytes` in num_streams parts, touched by the thread that reads it.
class Streams {
 public:
  explicit Streams(const ReadProbe& probe)
      : num_streams_(probe.num_streams),
        stream_bytes_(round_up(ceil_div(probe.bytes, probe.num_streams), kVisitBytes)),
        data_(stream_bytes_ * num_streams_) {
    std::memset(data_.data(), 1, static_cast<std::size_t>(data_.bytes()));
  }
  void read() const { read_streams(data_.data(), stream_bytes_, num_streams_); }
  std::int64_t bytes() const { return data_.bytes(); }

 private:
  int num_streams_;
  std::int64_t stream_bytes_;
  AlignedBuffer data_;
};

}  // namespace

PeakFlops measure_peak(const Kernels& kernels, DType dtype, double seconds) {
  const TypeKernels& type = kernels.type(dtype);
  L1Tile tile(type);
  BestRate registers([&type](std::int64_t rounds) { return multiply_registers(type, rounds); });
  BestRate l1_fed([&tile](std::int64_t num_tiles) { return tile.multiply(num_tiles); });
  const double end = wall_seconds() + seconds;
  do {  // in turn, so that both see the same clock rate
    registers.run();
    l1_fed.run();
  } while (wall_seconds() < end);
  return {.registers = registers.best(), .l1_fed = l1_fed.best()};
}

double measure_read_bandwidth(const ReadProbe& probe) {
  double best = 0;
  if (probe.num_threads == 1) {
    const Streams streams(probe);
    for (int i = 0; i < probe.repeats; ++i) {
      const double start = thread_cpu_seconds();
      streams.read();
      best = std::max(best, static_cast<double>(streams.bytes()) / (thread_cpu_seconds() - start));
    }
    return best;
  }
  // Allocated here, where a failure can be thrown; first touched here too.
  std::vector<Streams> streams;
  for (int t = 0; t < probe.num_threads; ++t) streams.emplace_back(probe);
  std::vector<double> start(streams.size());
  std::vector<double> end(streams.size());
  for (int i = 0; i < probe.repeats; ++i) {
    std::atomic<int> num_waiting{probe.num_threads};
    std::vector<std::thread> threads;
    const auto read = [&](std::size_t t) {
      // Counted down for all that were started or never will be, so nobody waits for ever.
      num_waiting.fetch_sub(1, std::memory_order_acq_rel);
      for (Backoff backoff; num_waiting.load(std::memory_order_acquire) > 0;) backoff.pause();
      start[t] = wall_seconds();
      streams[t].read();
      end[t] = wall_seconds();
    };
    try {
      for (std::size_t t = 0; t < streams.size(); ++t) threads.emplace_back(read, t);
    } catch (const std::exception& error) {
      const std::size_t num_started = threads.size();
      num_waiting.store(0, std::memory_order_release);
      for (std::thread& thread : threads) thread.join();
      throw Error(ErrorCode::kOutOfMemory,
                  cat("the system gave ", num_started, " of ", probe.num_threads,
                      " threads to read memory: ", error.what()));
    }
    for (std::thread& thread : threads) thread.join();
    const double seconds =
        *std::max_element(end.begin(), end.end()) - *std::min_element(start.begin(), start.end());
    best = std::max(best, static_cast<double>(streams[0].bytes()) * probe.num_threads / seconds);
  }
  return best;
}

}  // namespace cmm::gemm
