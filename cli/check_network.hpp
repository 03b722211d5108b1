#pragma once

namespace cmm::cli {

class World;

// cmm check --network. Collective over the processes; returns an exit code.
int check_network(bool json, World& world);

}  // namespace cmm::cli
