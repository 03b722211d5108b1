// The memory of a rank that has its host to itself.
#pragma once

#include <memory>

#include "transport/memory/space.hpp"

namespace cmm::transport::mpi {

// Messages are sent out of it: rows of the caller's are copied, since a message may be read after
// the call that sends it has failed.
std::shared_ptr<memory::Space> make_private_space();

}  // namespace cmm::transport::mpi
