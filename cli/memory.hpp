// How much memory a problem may use on this machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace cmm::cli {

// Bytes that can be allocated without swapping: MemAvailable of the kernel, or the limit of the
// control group where that is less. -1 where neither can be read.
std::int64_t available_memory_bytes();

// Throws Error(kInvalidArgument) with both figures where `needed_bytes` exceeds what is available.
void check_memory(std::int64_t needed_bytes, std::string_view what);

}  // namespace cmm::cli
