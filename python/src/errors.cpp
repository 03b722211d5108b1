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

// With what is nested in it as its cause, as by `raise ... from` of Python.
nb::object exception_of(const Error& error) {
  const nb::object type = nb::module_::import_("collective_matmul.errors")
                              .attr(kClasses[static_cast<std::size_t>(error.code())]);
  nb::object exception = type(error.what(), error.rank());
  try {
    std::rethrow_if_nested(error);
  } catch (const Error& nested) {
    PyException_SetCause(exception.ptr(), exception_of(nested).release().ptr());
  }
  return exception;
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const nb::object raised = exception_of(error);
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace cmm::python
