// Walks a tile schedule with a clock: one device of a ring of equal devices, so that what comes
// from a neighbour comes when this device's own send of the hop before arrives there.
//
// Of a chip whose devices have two cores this is one of them: the schedule is of half the columns,
// HBM is that of one core, and each core bears half of what passes from device to device.
#pragma once

#include <string>
#include <vector>

#include "cmm/tpu_chip.hpp"
#include "cmm/tpu_times.hpp"
#include "schedule/tile_needs.hpp"
#include "schedule/tiles.hpp"

namespace cmm::sim {

// What of the machine the schedule meets. Copies in flight share HBM and links fairly (max-min).
struct TileMachine {
  tpu::Chip chip;
  schedule::TileElements elements;
  // Of the slowest hop of the ring, which sets the pace: less than the chip's link where the
  // ring's hops share links (a line without wrap-around), more latency where a hop crosses several.
  double link_bytes_per_second = 0;
  double hop_seconds = 0;
  double copy_bytes_per_second = 0;  // most that one copy can draw; 0: all that is free
  double own_x_from_seconds = 0;  // when own rows can be read: later where they are gathered first
};

struct TileSpan {
  enum class Lane { kMxu, kHbm, kForward, kBackward, kWait };
  Lane lane = Lane::kMxu;
  double begin_seconds = 0;
  double end_seconds = 0;
  int step = -1;
  // Of the rows of x that it sends, stores or multiplies, for a timeline to name their shards; -1:
  // none, or of several hops.
  int hop = -1;
  std::string text;  // "y block 3", "send hop 2 piece 1", "waits for y block 3"
};

struct TileTimes : tpu::DeviceTimes {
  std::vector<TileSpan> spans;  // where asked for
};

// What steps take by the compiler's own schedule of the kernel, in the place of the model's cycles.
struct StepCycles {
  std::vector<double> products;  // of each body, filling and draining the MXU included
  double control = 0;
};

struct WalkOptions {
  bool spans = false;
  const StepCycles* cycles = nullptr;  // null: the model's
};
TileTimes walk(const schedule::TileSchedule& schedule, const TileMachine& machine,
               const WalkOptions& options = {});

// The MXU block model of Chip.
double op_cycles(const tpu::Chip& chip, tpu::Element element, double rows, double k, double cols);
// Of one step's product of this body over one k block, without filling and draining the MXU.
double product_cycles(const TileMachine& machine, const schedule::TileShape& shape, int body);

// What filling and draining the MXU takes, once in a step: of a product of so many rows, and of one
// step's product of this body.
double fill_cycles(const tpu::Chip& chip, tpu::Element element, double rows, double cols);
double fill_cycles(const TileMachine& machine, const schedule::TileShape& shape, int body);

// Control of a step: Chip's cycles for what a row of the table has fields for.
double control_cycles(const tpu::Chip& chip, const schedule::TileShape& shape,
                      const schedule::TileFields& fields);
// The part of it that is spent before the product.
inline constexpr double kControlBefore = 0.57;

}  // namespace cmm::sim
