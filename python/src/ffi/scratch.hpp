// Memory of gathered x, kept between calls: fresh pages cost more than the copy into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cmm::python::ffi {

// At least `bytes`, 64-byte aligned; comes back to the store with its last owner. Throws
// std::bad_alloc.
std::shared_ptr<std::byte> take_scratch(std::int64_t bytes);

}  // namespace cmm::python::ffi
