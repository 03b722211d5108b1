// What Python needs to register the handlers for CPU devices with JAX, and what tests look at.
#include "ffi/finishers.hpp"
#include "ffi/handlers.hpp"
#include "ffi/meetings.hpp"
#include "ffi/site.hpp"
#include "module.hpp"

namespace cmm::python {

void bind_ffi(nanobind::module_& module) {
  namespace nb = nanobind;
  nb::module_ submodule = module.def_submodule("ffi", "XLA FFI handlers for CPU devices.");
  const auto handler = [](xla::Error* (*function)(xla::CallFrame*)) {
    return nb::capsule(reinterpret_cast<const void*>(function));
  };
  submodule.attr("instantiate") = handler(ffi::instantiate);
  submodule.attr("execute") = handler(ffi::execute);
  // Of this process, now.
  submodule.def("num_sites", &ffi::Site::num_alive);
  submodule.def("num_open_meetings", [] { return ffi::Meetings::instance().num_open(); });
  submodule.def("num_finishers", [] { return ffi::Finishers::instance().num_threads(); });
}

}  // namespace cmm::python
