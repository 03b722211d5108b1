// A TPU as far as a kernel and its timing depend on it. The figures of each generation, with their
// sources, stand in data/tpu_chips.json, which a user can copy and edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmm::tpu {

// Element types of a kernel's operands. Products of floats are summed in f32, of int8 in int32.
enum class Element : std::uint8_t { kF32, kBF16, kF8E4M3, kS8, kS32 };

std::string_view element_name(Element element);  // "f32", "bf16", "fp8", "int8", "int32"
Element parse_element(std::string_view name);    // throws Error(kInvalidArgument)
constexpr int element_bytes(Element element) {
  return element == Element::kF32 || element == Element::kS32 ? 4
         : element == Element::kBF16                          ? 2
                                                              : 1;
}

struct Chip {
  std::string name;    // "v6e"
  int generation = 0;  // 4 .. 7
  int cores_per_device =
      1;                   // 2 where one device drives both cores, each with half the columns of y
  int links = 4;           // ICI links of a chip
  int torus_dims = 2;      // of a pod
  int wrap_multiple = 16;  // axes of a slice that are multiples of it wrap around

  // Of one core.
  double clock_hz = 0;
  std::int64_t vmem_bytes = 0;
  std::int64_t smem_bytes = 0;
  int num_semaphores = 0;  // that a kernel can have
  double hbm_bytes_per_second = 0;

  // One direction of one link, and what a hop costs before its first byte arrives.
  double link_bytes_per_second = 0;
  double hop_seconds = 0;
  double copy_seconds = 0;   // latency of a local copy
  double entry_seconds = 0;  // both neighbours have entered

  // The block model of the real compiler: the tile ops of one step take the sum over them of
  //   ceil(k / mxu_tile) ceil(cols / mxu_tile) / num_mxus
  //     * max(rows * mxu_cycles_per_row, mxu_push_cycles) / mxu_rate[element]
  // and once, for filling and draining it, `block_cycles` (`wide_block_cycles` where a tile op has
  // more than 512 columns) and what the last rows take:
  //   min(rows * mxu_cycles_per_row, mxu_push_cycles) / mxu_rate[element]
  int num_mxus = 0;
  int mxu_tile = 0;
  double mxu_cycles_per_row = 0;
  double mxu_push_cycles = 0;
  std::vector<double> mxu_rate;  // by Element, 1 for bf16; 0: not multiplied by this chip
  double block_cycles = 0;
  double wide_block_cycles = 0;

  // Control of one step of a table, in series with the MXU.
  double step_cycles = 0;            // with one matmul body and one field of each kind
  double body_cycles = 0;            // each further matmul body
  double send_cycles = 0;            // each further pair of sends in a step
  double load_cycles = 0;            // each further load in a step; a store of x is two
  double store_cycles = 0;           // each further group of output rows in a step
  double column_cycles = 0;          // each further column block of a body
  double credit_cycles = 0;          // where x slots are used again
  double reference_step_cycles = 0;  // of the reference kernel
  double semaphore_exit_cycles = 0;  // each semaphore, when the kernel ends
};

// Whether the MXU of the chip takes operands of this type.
inline bool multiplies(const Chip& chip, Element element) {
  const auto index = static_cast<std::size_t>(element);
  return index < chip.mxu_rate.size() && chip.mxu_rate[index] > 0;
}

// Rows of a tile in memory: slices along rows begin and end at multiples of it. Columns: 128.
constexpr int sublane_rows(int generation, Element element) {
  const int packing = 4 / element_bytes(element);
  return generation >= 7 || packing == 4 ? 8 * packing : 8;
}
inline constexpr int kLanes = 128;

}  // namespace cmm::tpu
