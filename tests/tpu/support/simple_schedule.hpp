// Tile schedules that are plainly right and nothing else: groups of x in the order of their hops, a
// product waits for all it needs in its own step. Any shape, body, home of x, and as few slots as
// will do, so that a kernel's every action and form can be tried without a planner.
#pragma once

#include "schedule/tiles.hpp"

namespace cmm::test {

// All fields of the shape are set. Bodies but the last fill up what the last, used wherever it
// fits, leaves over; the first is of one group and one block.
//
// Slots: for x in VMEM all groups of all devices, or a multiple of the last body's groups that is
// at least the groups of one hop and of the last body together; for x in HBM 2 of the last body's
// groups. For y as many as a body has blocks.
schedule::TileSchedule simple_schedule(const schedule::TileShape& shape);

}  // namespace cmm::test
