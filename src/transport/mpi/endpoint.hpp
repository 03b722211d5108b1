// The end of an axis whose ranks are on several hosts.
#pragma once

#include <memory>
#include <vector>

#include "transport/mpi/mailbox.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::mpi {

// `hosts` as Endpoint::hosts() says. The endpoint's destructor leaves the axis.
std::shared_ptr<Endpoint> make_endpoint(const Mailbox::Config& config, std::vector<int> hosts);

}  // namespace cmm::transport::mpi
