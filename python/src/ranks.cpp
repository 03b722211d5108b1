// Ranks and the axes they lie on.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmm/mesh.hpp"
#include "gil.hpp"
#include "module.hpp"
#include "seconds.hpp"

namespace cmm::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator"" _a;

using Axes = std::vector<std::pair<std::string, int>>;

std::vector<AxisSize> axis_sizes(const Axes& axes) {
  std::vector<AxisSize> sizes;
  for (const auto& [name, size] : axes) sizes.push_back({name, size});
  return sizes;
}

// Text that lives as long as the program, which Mesh::leave asks for. Equal ones are kept once.
const char* kept(const std::string& text) {
  static std::set<std::string> texts;
  return texts.insert(text).first->c_str();
}

}  // namespace

void bind_ranks(nb::module_& module) {
  const double usual = seconds_of(kDefaultDeadline);
  module.attr("default_deadline_seconds") = usual;
  module.attr("MAX_RANKS") = kMaxRanks;
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&EndOfInterpreter::begin));

  nb::class_<Axis>(module, "Axis")
      .def_prop_ro("rank", &Axis::rank)
      .def_prop_ro("num_ranks", &Axis::num_ranks)
      .def_prop_ro("name", &Axis::name)
      .def_prop_ro("transport", &Axis::transport_name)
      .def_prop_ro("num_hosts", &Axis::num_hosts)
      .def("history", &Axis::history)
      .def(
          "exchange",
          [](const Axis& axis, const nb::bytes& text, double deadline_seconds) {
            const std::string mine(text.c_str(), text.size());
            std::vector<std::string> all;
            {
              const Released released;
              all = axis.exchange(mine, deadline_of(deadline_seconds));
            }
            nb::list result;
            for (const std::string& each : all) result.append(nb::bytes(each.data(), each.size()));
            return result;
          },
          "text"_a, "deadline_seconds"_a = usual)
      .def(
          "barrier",
          [](const Axis& axis, double deadline_seconds) {
            axis.barrier(deadline_of(deadline_seconds));
          },
          "deadline_seconds"_a = usual, WithoutGil());

  nb::class_<Memory>(module, "Memory")
      .def_prop_ro(
          "address",
          [](const Memory& memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); })
      .def_prop_ro("bytes", &Memory::bytes);

  nb::class_<Mesh>(module, "Mesh")
      .def_static(
          "threads", [](const Axes& axes) { return Mesh::threads(axis_sizes(axes)); }, "axes"_a,
          WithoutGil())
      .def_static(
          "processes",
          [](const Axes& axes, const std::string& socket, int rank, int num_ranks,
             const std::string& token, double deadline_seconds) {
            return Mesh::processes({.socket = socket,
                                    .rank = rank,
                                    .num_ranks = num_ranks,
                                    .token = token,
                                    .deadline = deadline_of(deadline_seconds)},
                                   axis_sizes(axes));
          },
          "axes"_a, "socket"_a, "rank"_a, "num_ranks"_a, "token"_a = "",
          "deadline_seconds"_a = usual, WithoutGil())
      .def_static(
          "from_environment",
          [](const Axes& axes, double deadline_seconds) {
            return Mesh::from_environment(axis_sizes(axes), deadline_of(deadline_seconds));
          },
          "axes"_a, "deadline_seconds"_a = usual, WithoutGil())
      .def_prop_ro("rank", &Mesh::rank)
      .def_prop_ro("num_ranks", &Mesh::num_ranks)
      .def("axis", &Mesh::axis, "name"_a)
      .def("allocate", &Mesh::allocate, "bytes"_a, WithoutGil())
      .def_prop_ro("axes",
                   [](const Mesh& mesh) {
                     Axes axes;
                     for (const AxisSize& axis : mesh.axes())
                       axes.emplace_back(axis.name, axis.size);
                     return axes;
                   })
      .def("abort", &Mesh::abort, "reason"_a, WithoutGil())
      .def(
          "leave", [](Mesh& mesh, const std::string& reason) { mesh.leave(kept(reason)); },
          "reason"_a = "its body returned");
}

}  // namespace cmm::python
