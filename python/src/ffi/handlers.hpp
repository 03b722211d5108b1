// The two handlers of an all-gather matmul on CPU devices, as the runtime calls them.
#pragma once

#include "api.hpp"

namespace cmm::python::ffi {

// When an executable is loaded, once per call site: makes its Site (site.hpp has the attributes).
// Also when it is registered itself, to say what it is.
xla::Error* instantiate(xla::CallFrame* frame);

// On each device, each time. Operands x_local [m_local, k], right sides, where int32[2]; results
// out [m, n] per right side (SwiGLU: one), then the gathered x [m, k] where the attributes ask for
// it. Complete once the frame's future is, or on return where there is none. A call that fails does
// so on every device, with the same error.
xla::Error* execute(xla::CallFrame* frame);

}  // namespace cmm::python::ffi
