// Where the time of one device goes, as a walk of its schedule finds it. All times are in seconds.
#pragma once

namespace cmm::tpu {

// The parts up to `tail_seconds` add up to `seconds`.
struct DeviceTimes {
  double seconds = 0;
  double mxu_seconds = 0;       // multiplying
  double control_seconds = 0;   // filling and draining the MXU, reading the table, starting copies
  double idle_x_seconds = 0;    // waiting for rows of x ...
  double idle_y_seconds = 0;    // ... for blocks of y
  double idle_out_seconds = 0;  // ... for a free output slot
  double idle_other_seconds = 0;  // ... for neighbours to enter, credits, departures
  double tail_seconds = 0;        // after the last product
  // Of these, what the gather of x causes: idle_x, idle_other and the wait for x in the tail.
  double exposed_seconds = 0;
  double hbm_busy = 0;   // shares of `seconds`
  double link_busy = 0;  // of the busier direction
  int num_steps = 0;     // of the table, or of the grid
};

}  // namespace cmm::tpu
