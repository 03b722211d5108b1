// Kernels for TPUs: the check of a call, the custom call that XLA takes, and what is known of both.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmm/tpu.hpp"
#include "gil.hpp"
#include "module.hpp"

namespace cmm::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator"" _a;

// Element types go by the names that JAX has for them.
const char* jax_name(tpu::Element element) {
  switch (element) {
    case tpu::Element::kF32:
      return "float32";
    case tpu::Element::kBF16:
      return "bfloat16";
    case tpu::Element::kF8E4M3:
      return "float8_e4m3fn";
    case tpu::Element::kS8:
      return "int8";
    case tpu::Element::kS32:
      return "int32";
  }
  return "";
}

// A kernel that is called has all columns of its device, also where the device is two cores: what
// is told of it here is of that kernel.
tpu::Chip device_of(const std::string& chip) {
  tpu::Chip device = tpu::chip(chip);
  device.cores_per_device = 1;
  return device;
}

void check_call(const std::vector<std::int64_t>& x_shape, const std::vector<std::int64_t>& y_shape,
                const std::string& x_dtype, const std::string& y_dtype,
                const std::vector<std::pair<std::string, int>>& mesh, const std::string& axis_name,
                std::optional<int> collective_id, std::optional<std::int64_t> bn,
                std::optional<std::int64_t> bk, bool rhs_transpose) {
  tpu::Call call{.x_shape = x_shape,
                 .y_shape = y_shape,
                 .x_dtype = x_dtype,
                 .y_dtype = y_dtype,
                 .mesh = {},
                 .axis_name = axis_name,
                 .collective_id = collective_id,
                 .bn = bn,
                 .bk = bk,
                 .rhs_transpose = rhs_transpose};
  for (const auto& [name, size] : mesh) call.mesh.push_back({name, size});
  tpu::check(call);
}

void bind_problem(nb::module_& module) {
  nb::class_<tpu::Problem>(module, "Problem")
      .def(
          "__init__",
          [](tpu::Problem* problem, const std::vector<int>& mesh, int axis, std::int64_t m,
             std::int64_t k, const std::vector<std::int64_t>& n, const std::string& dtype,
             const std::optional<std::string>& out_dtype, bool rhs_transpose, bool gathered) {
            new (problem) tpu::Problem{.mesh = mesh,
                                       .axis = axis,
                                       .m = m,
                                       .k = k,
                                       .n = n,
                                       .element = tpu::element_of("x", dtype),
                                       .out_element = {},
                                       .rhs_transposed = rhs_transpose,
                                       .gathered = gathered};
            if (out_dtype) {
              problem->out_element =
                  *out_dtype == "int32" ? tpu::Element::kS32 : tpu::element_of("out", *out_dtype);
            }
          },
          nb::kw_only(), "mesh"_a, "axis"_a, "m"_a, "k"_a, "n"_a, "dtype"_a,
          "out_dtype"_a = nb::none(), "rhs_transpose"_a = false, "gathered"_a = false);
  nb::class_<tpu::KernelOptions>(module, "KernelOptions")
      .def(
          "__init__",
          [](tpu::KernelOptions* options, const std::string& schedule, std::int64_t bn,
             std::int64_t bk, const std::string& parameters, int collective_id, bool debug) {
            new (options) tpu::KernelOptions{.schedule = tpu::parse_schedule(schedule),
                                             .bn = bn,
                                             .bk = bk,
                                             .parameters = parameters,
                                             .collective_id = collective_id,
                                             .debug = debug};
          },
          nb::kw_only(), "schedule"_a = "auto", "bn"_a = 0, "bk"_a = 0, "parameters"_a = "",
          "collective_id"_a = 0, "debug"_a = false);
}

void bind_results(nb::module_& module) {
  nb::class_<tpu::Tensor>(module, "Tensor")
      .def_prop_ro("dtype", [](const tpu::Tensor& tensor) { return jax_name(tensor.element); })
      .def_ro("shape", &tpu::Tensor::shape);
  nb::class_<tpu::CustomCall>(module, "CustomCall")
      .def_ro("name", &tpu::CustomCall::name)
      .def_ro("config", &tpu::CustomCall::config)
      .def_ro("table", &tpu::CustomCall::table)
      .def_ro("operands", &tpu::CustomCall::operands)
      .def_ro("results", &tpu::CustomCall::results);
  nb::class_<tpu::KernelDescription>(module, "KernelDescription")
      .def_prop_ro(
          "schedule",
          [](const tpu::KernelDescription& kernel) { return tpu::schedule_name(kernel.schedule); })
      .def_ro("name", &tpu::KernelDescription::name)
      .def_ro("parameters", &tpu::KernelDescription::parameters)
      .def_ro("vmem_bytes", &tpu::KernelDescription::vmem_bytes)
      .def_ro("num_semaphores", &tpu::KernelDescription::num_semaphores)
      .def_ro("num_steps", &tpu::KernelDescription::num_steps)
      .def_ro("flops", &tpu::KernelDescription::flops)
      .def_ro("hbm_bytes", &tpu::KernelDescription::hbm_bytes)
      .def_ro("remote_bytes", &tpu::KernelDescription::remote_bytes);
  nb::class_<tpu::BlockSizes>(module, "BlockSizes")
      .def_ro("bn", &tpu::BlockSizes::bn)
      .def_ro("bk", &tpu::BlockSizes::bk)
      .def_ro("tuned", &tpu::BlockSizes::tuned)
      .def_ro("from_shape", &tpu::BlockSizes::from);
}

}  // namespace

void bind_tpu(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("tpu");
  bind_problem(module);
  bind_results(module);
  module.def("chips", [] {
    std::vector<std::string> names;
    for (const tpu::Chip& chip : tpu::chips()) names.push_back(chip.name);
    return names;
  });
  module.def("wrap_multiple",
             [](const std::string& chip) { return tpu::chip(chip).wrap_multiple; });
  module.def("check_call", &check_call, nb::kw_only(), "x_shape"_a, "y_shape"_a, "x_dtype"_a,
             "y_dtype"_a, "mesh"_a, "axis_name"_a, "collective_id"_a.none(), "bn"_a.none(),
             "bk"_a.none(), "rhs_transpose"_a);
  module.def(
      "custom_call",
      [](const tpu::Problem& problem, const std::string& chip, const tpu::KernelOptions& options) {
        return tpu::custom_call(problem, tpu::chip(chip), options);
      },
      "problem"_a, "chip"_a, "options"_a, WithoutGil());
  module.def(
      "describe",
      [](const tpu::Problem& problem, const std::string& chip, const tpu::KernelOptions& options) {
        return tpu::describe(problem, device_of(chip), options);
      },
      "problem"_a, "chip"_a, "options"_a, WithoutGil());
  module.def(
      "vmem_estimate_bytes",
      [](const tpu::Problem& problem, const std::string& chip, const tpu::KernelOptions& options) {
        return tpu::vmem_estimate_bytes(problem, device_of(chip), options);
      },
      "problem"_a, "chip"_a, "options"_a, WithoutGil());
  module.def(
      "tuned_block_sizes",
      [](const tpu::Problem& problem, const std::string& chip) {
        return tpu::tuned_block_sizes(problem, tpu::chip(chip));
      },
      "problem"_a, "chip"_a);
  module.def(
      "ring_order",
      [](const std::vector<std::vector<int>>& places,
         int ring_size) {  // x, y, z and the core of each device
        std::vector<tpu::DevicePlace> devices;
        for (const std::vector<int>& at : places) {
          devices.push_back({.chip = {at.at(0), at.at(1), at.at(2)}, .core = at.at(3)});
        }
        return tpu::ring_order(devices, ring_size);
      },
      "places"_a, "ring_size"_a);
}

}  // namespace cmm::python
