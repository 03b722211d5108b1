// The steps of the reference kernel (docs/tpu.md, "The reference kernel"): what each point of its
// grid [P + 2, grid_n, grid_k] does, in order. The kernel does it, the simulator walks it.
//
// All devices do the same. Rows are named by their distance, as in tiles.hpp: at hop h a device has
// the first half of the shard h places ahead and the second half of the shard h places behind.
//
//   P = 3, grid_n = grid_k = 1
//   point   0                1                2                3               4
//   start   send hop 0       send hop 1
//           load x 0, y      load x 1         load x 2
//                                             store tile 0     store tile 1    store tile 2
//   MXU                      multiply 0       multiply 1       multiply 2
//   wait                                      store tile 0     store tile 1    store tile 2
//           y, x 0, hop 0    x 1, hop 1       x 2
#pragma once

#include <cstdint>
#include <vector>

namespace cmm::schedule {

struct ReferenceShape {
  int num_devices = 2;      // P >= 2
  std::int64_t grid_n = 1;  // column blocks of y
  std::int64_t grid_k = 1;  // k blocks
};

struct ReferenceAction {
  enum class Kind {
    kEnter,       // both neighbours have entered the kernel
    kSend,        // hop: both halves go on to the neighbours, where they are at hop + 1
    kLoadX,       // hop, k_block, slot: the own shard at hop 0, else both halves that have come
    kLoadY,       // block, k_block
    kStore,       // hop, block, slot: a finished tile goes to out, in two halves
    kMultiply,    // hop, block, k_block, slot of x, out_slot
    kAwaitStore,  // hop, block, slot
    kAwaitY,      // block, k_block
    kAwaitX,      // hop, k_block, slot
    kAwaitHop,    // hop: both halves of the kSend have left, and those of the neighbours have come
  };
  Kind kind = Kind::kEnter;
  int hop = 0;
  int block = 0;
  int k_block = 0;
  int slot = 0;  // 0 or 1
  int out_slot = 0;
  friend bool operator==(const ReferenceAction&, const ReferenceAction&) = default;
};

// Of each point of the grid, the last dimension fastest; within a point in the order of Kind.
std::vector<std::vector<ReferenceAction>> reference_steps(const ReferenceShape& shape);

}  // namespace cmm::schedule
