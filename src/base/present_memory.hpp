// How much memory this process can still take.
#pragma once

#include <cstdint>

namespace cmm {

// Bytes that can be taken before something is killed for want of memory: what the kernel calls
// available plus free swap, or what the limits of this process's control group leave where that is
// less. -1 where neither can be read. An estimate: others take memory meanwhile.
std::int64_t present_memory_bytes();

}  // namespace cmm
