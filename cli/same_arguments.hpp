// Ranks that were started together run one command with the same arguments.
#pragma once

#include <string>
#include <vector>

#include "world.hpp"

namespace cmm::cli {

// An argument as the parser took it, so that "--m 4" and "--m=4" are alike.
struct GivenArgument {
  std::string name;   // "--m", or "X" of one that has no flag
  std::string value;  // empty: a flag that takes none
};
struct GivenArguments {
  std::string command;
  std::vector<GivenArgument> arguments;  // in any order
};

// Collective over the processes. Throws AgreedError(kInvalidArgument) that names the first argument
// in which some rank differs from rank 0, with both values.
void check_same_arguments(World& world, const GivenArguments& mine);

}  // namespace cmm::cli
