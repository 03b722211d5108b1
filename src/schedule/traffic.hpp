// What a schedule asks of links and ranks, counted in chunks. No clock and no bytes: those depend
// on the machine and on m.
#pragma once

#include "schedule/schedule.hpp"

namespace cmm::schedule {

struct Traffic {
  int num_steps = 0;
  int most_hops = 0;              // of any chunk on its way from its owner
  int chunks_into_rank = 0;       // the same for all ranks
  int most_chunks_out = 0;        // of one rank
  int most_chunks_on_link = 0;    // from one rank to one other
  int most_chunks_into_host = 0;  // from all other hosts; 0 for a single host
  int most_chunks_out_of_host = 0;
};

// Looks at all P schedules: time and memory grow with P * P * chunks_per_shard. Throws as
// check_shape.
Traffic traffic(const Shape& shape);

}  // namespace cmm::schedule
