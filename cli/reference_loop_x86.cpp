// The same loop compiled for three kinds of x86 processor. Not by target_clones: its resolvers run
// before a sanitizer has started.
#include "reference_loop.hpp"

namespace cmm::cli {
namespace {

[[gnu::target("avx512f,fma")]] void block_avx512(const ReferenceBlock& block, Chain chain) {
  reference_loop::any_block(block, chain);
}
[[gnu::target("avx2,fma")]] void block_avx2(const ReferenceBlock& block, Chain chain) {
  reference_loop::any_block(block, chain);
}
void block_any(const ReferenceBlock& block, Chain chain) {
  reference_loop::any_block(block, chain);
}

using BlockFunction = void (*)(const ReferenceBlock&, Chain);

BlockFunction choose() {
  if (__builtin_cpu_supports("avx512f")) return block_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return block_avx2;
  return block_any;
}

}  // namespace

void reference_block(const ReferenceBlock& block, Chain chain) {
  static const BlockFunction function = choose();
  function(block, chain);
}

}  // namespace cmm::cli
