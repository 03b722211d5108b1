#include "reference_loop.hpp"

namespace cmm::cli {

void reference_block(const ReferenceBlock& block, Chain chain) {
  reference_loop::any_block(block, chain);
}

}  // namespace cmm::cli
