#include "module.hpp"

NB_MODULE(_core, module) {
  // Arrays in memory of ours may live until the process ends; that is no fault to print.
  nanobind::set_leak_warnings(false);
  cmm::python::bind_errors(module);
  cmm::python::bind_ranks(module);
  cmm::python::bind_matmul(module);
  cmm::python::bind_tpu(module);
  cmm::python::bind_simulate(module);
  cmm::python::bind_ffi(module);
}
