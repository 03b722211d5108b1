// Simulations, verdicts on kernels, and timelines.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmm/simulate.hpp"
#include "cmm/tpu.hpp"
#include "gil.hpp"
#include "module.hpp"

namespace cmm::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator"" _a;

// What is asked of ranks that need not exist, whatever the machine.
struct SimulatedProblem {
  ProblemShape shape;
  int num_ranks = 1;
  SimulateOptions options;

  RankSimulation simulated_on(const SimulatedMachine& machine) const {
    return simulate(shape, num_ranks, machine, options);
  }
};

void bind_ranks_simulation(nb::module_& module) {
  nb::class_<SimulatedProblem>(module, "SimulatedProblem")
      .def(
          "__init__",
          [](SimulatedProblem* problem, int num_ranks, std::int64_t m, std::int64_t k,
             std::int64_t n_local, const std::string& dtype, const std::string& algorithm,
             int pieces, bool timeline) {
            new (problem) SimulatedProblem{
                .shape = {.m = m, .k = k, .n_local = {n_local}, .dtype = parse_dtype(dtype)},
                .num_ranks = num_ranks,
                .options = {.algorithm = parse_algorithm(algorithm),
                            .pieces = pieces,
                            .timeline = timeline}};
          },
          nb::kw_only(), "num_ranks"_a, "m"_a, "k"_a, "n_local"_a, "dtype"_a, "algorithm"_a,
          "pieces"_a, "timeline"_a);
  nb::class_<SimulatedBound>(module, "SimulatedBound")
      .def_ro("seconds", &SimulatedBound::seconds)
      .def_ro("multiply_seconds", &SimulatedBound::multiply_seconds)
      .def_ro("transfer_seconds", &SimulatedBound::transfer_seconds)
      .def_ro("first_chunk_seconds", &SimulatedBound::first_chunk_seconds)
      .def_ro("last_chunk_seconds", &SimulatedBound::last_chunk_seconds);
  nb::class_<SimulatedLink>(module, "SimulatedLink")
      .def_ro("name", &SimulatedLink::name)
      .def_ro("num_alike", &SimulatedLink::num_alike)
      .def_ro("bytes", &SimulatedLink::bytes)
      .def_ro("busy", &SimulatedLink::busy);
  nb::class_<RankSimulation>(module, "RankSimulation")
      .def_prop_ro("algorithm",
                   [](const RankSimulation& it) { return algorithm_name(it.algorithm); })
      .def_ro("pieces", &RankSimulation::pieces)
      .def_ro("num_chunks", &RankSimulation::num_chunks)
      .def_ro("reason", &RankSimulation::reason)
      .def_ro("seconds", &RankSimulation::seconds)
      .def_ro("bound", &RankSimulation::bound)
      .def_ro("share_of_bound", &RankSimulation::share_of_bound)
      .def_ro("gather_seconds", &RankSimulation::gather_seconds)
      .def_ro("multiply_seconds", &RankSimulation::multiply_seconds)
      .def_ro("exposed_seconds", &RankSimulation::exposed_seconds)
      .def_ro("idle_transfer_seconds", &RankSimulation::idle_transfer_seconds)
      .def_ro("idle_latency_seconds", &RankSimulation::idle_latency_seconds)
      .def_ro("idle_upstream_seconds", &RankSimulation::idle_upstream_seconds)
      .def_ro("idle_slot_seconds", &RankSimulation::idle_slot_seconds)
      .def_ro("last_rank", &RankSimulation::last_rank)
      .def_ro("num_walked", &RankSimulation::num_walked)
      .def_ro("links", &RankSimulation::links)
      .def_ro("timeline", &RankSimulation::timeline);

  const SimulatedHosts usual;
  module.def(
      "simulate_hosts",
      [](const SimulatedProblem& problem, int num_hosts, double bytes_per_second,
         double latency_seconds, double rank_flops, double memory_bytes_per_second) {
        return problem.simulated_on(SimulatedHosts{
            .num_hosts = num_hosts,
            .network = {.bytes_per_second = bytes_per_second, .latency_seconds = latency_seconds},
            .rank_flops = rank_flops,
            .memory_bytes_per_second = memory_bytes_per_second});
      },
      "problem"_a, "num_hosts"_a, nb::kw_only(),
      "bytes_per_second"_a = usual.network.bytes_per_second,
      "latency_seconds"_a = usual.network.latency_seconds, "rank_flops"_a = usual.rank_flops,
      "memory_bytes_per_second"_a = usual.memory_bytes_per_second, WithoutGil());
  module.def(
      "simulate_slice",
      [](const SimulatedProblem& problem, const std::string& chip, const std::vector<int>& slice,
         int num_hosts) {
        const tpu::Chip& it = tpu::chip(chip);
        return problem.simulated_on(
            SimulatedSlice{.chip = it,
                           .chips = slice.empty() ? tpu::usual_slice(it, problem.num_ranks) : slice,
                           .num_hosts = num_hosts});
      },
      "problem"_a, "chip"_a, "slice"_a, "num_hosts"_a, WithoutGil());
}

void bind_kernel_simulation(nb::module_& module) {
  using tpu::Bound, tpu::KernelTimes, tpu::Simulation;
  nb::class_<Bound>(module, "Bound")
      .def_ro("seconds", &Bound::seconds)
      .def_ro("mxu_seconds", &Bound::mxu_seconds)
      .def_ro("link_seconds", &Bound::link_seconds)
      .def_ro("hbm_seconds", &Bound::hbm_seconds);
  nb::class_<KernelTimes>(module, "KernelTimes")
      .def_prop_ro("schedule", [](const KernelTimes& it) { return schedule_name(it.schedule); })
      .def_ro("seconds", &KernelTimes::seconds)
      .def_ro("share_of_bound", &KernelTimes::share_of_bound)
      .def_ro("mxu_share", &KernelTimes::mxu_share)
      .def_ro("mxu_seconds", &KernelTimes::mxu_seconds)
      .def_ro("control_seconds", &KernelTimes::control_seconds)
      .def_ro("idle_x_seconds", &KernelTimes::idle_x_seconds)
      .def_ro("idle_y_seconds", &KernelTimes::idle_y_seconds)
      .def_ro("idle_out_seconds", &KernelTimes::idle_out_seconds)
      .def_ro("idle_other_seconds", &KernelTimes::idle_other_seconds)
      .def_ro("tail_seconds", &KernelTimes::tail_seconds)
      .def_ro("exposed_seconds", &KernelTimes::exposed_seconds)
      .def_ro("hbm_busy", &KernelTimes::hbm_busy)
      .def_ro("link_busy", &KernelTimes::link_busy)
      .def_ro("num_steps", &KernelTimes::num_steps)
      .def_ro("num_semaphores", &KernelTimes::num_semaphores)
      .def_ro("vmem_bytes", &KernelTimes::vmem_bytes)
      .def_ro("parameters", &KernelTimes::parameters)
      .def_ro("timeline", &KernelTimes::timeline);
  nb::class_<Simulation>(module, "Simulation")
      .def_ro("bound", &Simulation::bound)
      .def_ro("kernels", &Simulation::kernels)
      .def_ro("reference_refused", &Simulation::reference_refused)
      .def_ro("wavefront_refused", &Simulation::wavefront_refused)
      .def_ro("sequential_refused", &Simulation::sequential_refused)
      .def_prop_ro("chosen", [](const Simulation& it) { return schedule_name(it.chosen); });
  module.def(
      "simulate",
      [](const tpu::Problem& problem, const std::string& chip, const tpu::KernelOptions& options,
         const std::vector<int>& slice, double copy_bytes_per_second, int num_candidates,
         std::uint64_t seed, bool timeline) {
        return tpu::simulate(problem, tpu::chip(chip),
                             {.kernel = options,
                              .slice = slice,
                              .copy_bytes_per_second = copy_bytes_per_second,
                              .num_candidates = num_candidates,
                              .seed = seed,
                              .timeline = timeline});
      },
      "problem"_a, "chip"_a, "options"_a, "slice"_a, "copy_bytes_per_second"_a, "num_candidates"_a,
      "seed"_a, "timeline"_a, WithoutGil());
}

void bind_verdicts(nb::module_& module) {
  using tpu::Verification;
  nb::class_<Verification>(module, "Verification")
      .def_ro("right", &Verification::right)
      .def_ro("proved", &Verification::proved)
      .def_ro("fault", &Verification::fault)
      .def_ro("text", &Verification::text)
      .def_ro("run", &Verification::run)
      .def_ro("mutant", &Verification::mutant)
      .def_ro("kernel", &Verification::kernel)
      .def_ro("num_runs", &Verification::num_runs)
      .def_ro("seconds", &Verification::seconds);
  const tpu::VerificationOptions usual;
  module.def(
      "verify",
      [](const tpu::Problem& problem, const std::string& chip, const tpu::KernelOptions& options,
         std::uint64_t seed, int num_interleavings, std::optional<int> mutant, bool as_emitted) {
        const tpu::VerificationOptions how{.seed = seed, .num_interleavings = num_interleavings};
        tpu::Chip device = tpu::chip(chip);
        // A kernel that is emitted has all columns of its device, of both cores where it has two.
        if (as_emitted) device.cores_per_device = 1;
        return mutant ? tpu::verify_mutant(problem, device, options, *mutant, how)
                      : tpu::verify(problem, device, options, how);
      },
      "problem"_a, "chip"_a, "options"_a, "seed"_a = usual.seed,
      "num_interleavings"_a = usual.num_interleavings, "mutant"_a = nb::none(),
      "as_emitted"_a = false, WithoutGil());
}

}  // namespace

void bind_simulate(nb::module_& module) {
  nb::class_<Timeline>(module, "Timeline")
      .def_ro("title", &Timeline::title)
      .def("html", &timeline_html)
      .def("trace", &timeline_trace);
  bind_ranks_simulation(module);
  nb::module_ tpu = nb::cast<nb::module_>(module.attr("tpu"));
  bind_kernel_simulation(tpu);
  bind_verdicts(tpu);
}

}  // namespace cmm::python
