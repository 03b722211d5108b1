// Mailboxes of meshes that are out of use. A rank leaves a mesh without waiting for anybody, so its
// peers' last words come later. They are taken when another mesh is made or left, since they must
// not be on the way any more when the communicator is freed.
#pragma once

#include <memory>

#include "transport/mpi/mailbox.hpp"

namespace cmm::transport::mpi {

// Both take the lock themselves.
void retire(std::shared_ptr<Mailbox> mailbox) noexcept;
void clear_retired() noexcept;

}  // namespace cmm::transport::mpi
