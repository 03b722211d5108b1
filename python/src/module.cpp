#include "module.hpp"

NB_MODULE(_core, module) {
  cmm::python::bind_errors(module);
  cmm::python::bind_ranks(module);
  cmm::python::bind_matmul(module);
  cmm::python::bind_tpu(module);
  cmm::python::bind_simulate(module);
}
