#include <array>
#include <cstddef>
#include <exception>

#include "cmm/error.hpp"
#include "module.hpp"

namespace cmm::python {
namespace {

namespace nb = nanobind;

// By ErrorCode.
constexpr std::array kClasses = {"InvalidArgumentError", "BusyError",     "DeadlineError",
                                 "PeerFailedError",      "MeshDeadError", "OutOfMemoryError",
                                 "UnsupportedError",     "BadFileError",  "IoError"};
static_assert(kClasses.size() == static_cast<std::size_t>(ErrorCode::kIo) + 1);

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("collective_matmul.errors")
                                .attr(kClasses[static_cast<std::size_t>(error.code())]);
    const nb::object value = type(error.what(), error.rank());
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace cmm::python
