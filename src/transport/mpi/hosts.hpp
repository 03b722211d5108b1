// Which ranks of a mesh are on one host, and the memory that they share.
#pragma once

#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "transport/memory/space.hpp"
#include "transport/mpi/mailbox.hpp"

namespace cmm::transport::mpi {

struct HostRequest {
  std::int64_t control_bytes = 0;  // alike on every rank
  int apart = 0;                   // ranks with different numbers do not share memory
};
struct Host {
  std::vector<int> host_of;  // by rank of the mesh: 0 .. number of hosts - 1, by their first ranks
  std::vector<int> members;  // the ranks of this host, ascending; a rank's place is its number in:
  std::shared_ptr<memory::Space> space;
  std::shared_ptr<std::byte> control;  // that many bytes, zeroed, which all of them write
};

// Collective over the ranks of the mailbox. Ranks are on one host where one can connect to a socket
// of the other's that only exists inside a kernel, get a file without a name from it, map that and
// read in it what the other wrote. Host names are not asked: containers of one image, and hosts
// behind one name, would be taken for one another. Throws alike on all ranks.
Host find_host(Mailbox& mailbox, const HostRequest& request, const Deadline& deadline);

}  // namespace cmm::transport::mpi
