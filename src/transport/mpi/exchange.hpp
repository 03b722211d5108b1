// The exchange of texts between all ranks of an axis.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "transport/mpi/mailbox.hpp"

namespace cmm::transport::mpi {

// Collective; see Endpoint::exchange. Takes the lock itself.
std::vector<std::string> exchange(Mailbox& mailbox, const std::string& mine,
                                  const Deadline& deadline, Purpose purpose = Purpose::kText);

}  // namespace cmm::transport::mpi
