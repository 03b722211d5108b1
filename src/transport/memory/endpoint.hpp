// The end of an axis all of whose ranks are in one group: threads of a process, or processes of a
// host.
#pragma once

#include <memory>
#include <string_view>

#include "transport/memory/group.hpp"

namespace cmm::transport::memory {

// Rank r of the axis is index r of the group. `transport_name` lives as long as the program. The
// endpoint's destructor leaves the group.
std::shared_ptr<Endpoint> make_endpoint(std::shared_ptr<Group> group,
                                        std::string_view transport_name);

}  // namespace cmm::transport::memory
