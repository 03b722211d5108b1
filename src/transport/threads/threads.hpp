// Ranks that are threads of one process: all memory is theirs to read.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace cmm::transport::threads {

// The ends of one new axis, by rank.
std::vector<std::shared_ptr<Endpoint>> make_endpoints(int num_ranks);

}  // namespace cmm::transport::threads
