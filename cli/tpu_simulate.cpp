// cmm tpu simulate: how long the kernels take, by the model.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/timeline.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "files/text_file.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_command.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;
using tpu::KernelTimes;
using tpu::Schedule;
using tpu::Simulation;

constexpr IntRange kCandidates = {.min = 0, .max = 10'000'000};

struct SimulateArguments {
  TpuOptions tpu;
  MachineFlags machine;
  int num_candidates = 0;
  std::string trace_path;
  std::string html_path;
  bool compare = false;
  bool json = false;
};

struct Case {
  tpu::Chip chip;
  tpu::Problem problem;
  std::vector<int> slice;
  Schedule asked = Schedule::kAuto;
  Simulation simulation;
};

Json seconds_of(const Simulation& simulation, Schedule schedule) {
  const KernelTimes* times = simulation.find(schedule);
  return times == nullptr ? Json(nullptr) : Json(times->seconds);
}

// Where no schedule is named, what ours takes: the wavefront kernel, which leaves a problem to
// another schedule that is faster, or that is there at all. Else the wavefront kernel's own time,
// which always stands in `kernels`.
Json wavefront_seconds(const Case& it) {
  return seconds_of(it.simulation,
                    it.asked == Schedule::kAuto ? it.simulation.chosen : Schedule::kWavefront);
}

struct Refusal {
  const char* schedule;
  const std::string& why;
};
std::vector<Refusal> refusals(const Simulation& simulation) {
  std::vector<Refusal> refused;
  for (const Refusal& it : {Refusal{"reference", simulation.reference_refused},
                            Refusal{"wavefront", simulation.wavefront_refused},
                            Refusal{"sequential", simulation.sequential_refused}}) {
    if (!it.why.empty()) refused.push_back(it);
  }
  return refused;
}

Json kernel_json(const KernelTimes& times) {
  return {{"schedule", tpu::schedule_name(times.schedule)},
          {"seconds", times.seconds},
          {"share_of_bound", times.share_of_bound},
          {"mxu_share", times.mxu_share},
          {"mxu_seconds", times.mxu_seconds},
          {"control_seconds", times.control_seconds},
          {"idle_x_seconds", times.idle_x_seconds},
          {"idle_y_seconds", times.idle_y_seconds},
          {"idle_out_seconds", times.idle_out_seconds},
          {"idle_other_seconds", times.idle_other_seconds},
          {"tail_seconds", times.tail_seconds},
          {"exposed_seconds", times.exposed_seconds},
          {"hbm_busy", times.hbm_busy},
          {"link_busy", times.link_busy},
          {"num_steps", times.num_steps},
          {"num_semaphores", times.num_semaphores},
          {"vmem_bytes", times.vmem_bytes},
          {"parameters", times.parameters}};
}

Json json_of(const Case& it) {
  const Simulation& simulation = it.simulation;
  Json kernels = Json::array();
  for (const KernelTimes& times : simulation.kernels) kernels.push_back(kernel_json(times));
  Json json = {{"chip", it.chip.name},
               {"devices", it.problem.num_devices()},
               {"slice", grid_text(it.slice)},
               {"m", it.problem.m},
               {"k", it.problem.k},
               {"n", it.problem.n.size() == 1 ? Json(it.problem.n[0]) : Json(it.problem.n)},
               {"dtype", tpu::element_name(it.problem.element)},
               {"reference_seconds", seconds_of(simulation, Schedule::kReference)},
               {"wavefront_seconds", wavefront_seconds(it)},
               {"sequential_seconds", seconds_of(simulation, Schedule::kSequential)},
               {"bound_seconds", simulation.bound.seconds},
               {"bound_mxu_seconds", simulation.bound.mxu_seconds},
               {"bound_link_seconds", simulation.bound.link_seconds},
               {"bound_hbm_seconds", simulation.bound.hbm_seconds},
               {"chosen", tpu::schedule_name(simulation.chosen)},
               {"kernels", std::move(kernels)}};
  for (const Refusal& refused : refusals(simulation)) {
    json[text(refused.schedule, "_refused")] = refused.why;
  }
  return json;
}

std::string bound_text(const tpu::Bound& bound) {
  return text(seconds_text(bound.seconds), ": MXU ", seconds_text(bound.mxu_seconds), ", links ",
              seconds_text(bound.link_seconds), ", HBM ", seconds_text(bound.hbm_seconds));
}

std::string comparison(const Case& it) {
  const Simulation& simulation = it.simulation;
  const KernelTimes* reference = simulation.find(Schedule::kReference);
  Table table({"schedule", "time", "of bound", "speed-up", "MXU", "multiply", "control", "idle x",
               "idle y", "idle out", "idle other", "tail", "exposed"});
  for (const KernelTimes& times : simulation.kernels) {
    table.add({std::string(tpu::schedule_name(times.schedule)), seconds_text(times.seconds),
               percent_text(times.share_of_bound),
               reference == nullptr ? "" : fixed_text(reference->seconds / times.seconds, 2),
               percent_text(times.mxu_share), seconds_text(times.mxu_seconds),
               seconds_text(times.control_seconds), seconds_text(times.idle_x_seconds),
               seconds_text(times.idle_y_seconds), seconds_text(times.idle_out_seconds),
               seconds_text(times.idle_other_seconds), seconds_text(times.tail_seconds),
               seconds_text(times.exposed_seconds)});
  }
  table.add({"bound", seconds_text(simulation.bound.seconds)});
  return table.str();
}

std::string chosen_text(const Case& it) {
  const Simulation& simulation = it.simulation;
  const KernelTimes& times = *simulation.find(simulation.chosen);
  Table table;
  table.add({"chosen", std::string(tpu::schedule_name(times.schedule))});
  table.add({"time", text(seconds_text(times.seconds), ", ", percent_text(times.share_of_bound),
                          " of the bound")});
  table.add({"bound", bound_text(simulation.bound)});
  table.add({"MXU", text(seconds_text(times.mxu_seconds), " multiplying, ",
                         seconds_text(times.control_seconds), " control; ",
                         percent_text(times.mxu_share), " of the time at peak")});
  table.add({"idle", text("for x ", seconds_text(times.idle_x_seconds), ", for y ",
                          seconds_text(times.idle_y_seconds), ", for output slots ",
                          seconds_text(times.idle_out_seconds), ", for neighbours ",
                          seconds_text(times.idle_other_seconds), ", tail ",
                          seconds_text(times.tail_seconds))});
  table.add({"exposed", seconds_text(times.exposed_seconds) + " of the gather"});
  if (times.vmem_bytes > 0) {
    table.add({"kernel", text(times.num_steps, " steps, ", times.num_semaphores, " semaphores, ",
                              bytes_text(times.vmem_bytes), " of ", bytes_text(it.chip.vmem_bytes),
                              " VMEM")});
  }
  if (!times.parameters.empty()) table.add({"parameters", times.parameters});
  return table.str();
}

std::string str_of(const Case& it, bool compare) {
  std::string refused;
  for (const Refusal& one : refusals(it.simulation)) {
    // Of the reference, which refuses many problems, only who compares wants to know.
    if (compare || std::string_view(one.schedule) != "reference") {
      refused += text(one.schedule, ": refused, ", one.why, "\n");
    }
  }
  return text(it.chip.name, " ", grid_text(it.slice), ", ", problem_text(it.problem), "\n\n",
              compare ? comparison(it) : "", refused, compare || !refused.empty() ? "\n" : "",
              chosen_text(it));
}

int run(const SimulateArguments& arguments) {
  Case it;
  it.chip = arguments.tpu.chip();
  it.problem = arguments.tpu.problem();
  tpu::SimulateOptions options;
  options.kernel = arguments.tpu.kernel();
  it.asked = options.kernel.schedule;
  options.slice = arguments.machine.slice();
  options.copy_bytes_per_second = arguments.machine.copy_bytes_per_second();
  options.num_candidates = arguments.num_candidates;
  options.timeline = !arguments.trace_path.empty() || !arguments.html_path.empty();
  it.slice =
      options.slice.empty() ? tpu::usual_slice(it.chip, it.problem.num_devices()) : options.slice;
  it.simulation = tpu::simulate(it.problem, it.chip, options);
  const Timeline& timeline = it.simulation.find(it.simulation.chosen)->timeline;
  if (!arguments.trace_path.empty()) {
    files::write_text(arguments.trace_path, timeline_trace(timeline));
  }
  if (!arguments.html_path.empty()) {
    files::write_text(arguments.html_path, timeline_html(timeline));
  }
  const std::string shown =
      arguments.json ? json_of(it).dump(2) + "\n" : str_of(it, arguments.compare);
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace

TpuCommand add_tpu_simulate_command(CLI::App& tpu) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* sub = tpu.add_subcommand("simulate", "how long a shape takes on a chip, and why");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {});
  arguments->tpu.add_kernel_to(
      *sub, "auto, reference, wavefront or sequential (default: auto, the fastest)");
  arguments->machine.add_to(*sub);
  add_int(*sub, "--search", arguments->num_candidates, kCandidates,
          "candidates that a search tries for the wavefront kernel (default: 0, the best known)");
  add_file(*sub, "--trace", arguments->trace_path,
           "write the timeline of the schedule chosen, for ui.perfetto.dev");
  add_file(*sub, "--html", arguments->html_path, "write it as a page for a browser");
  sub->add_flag("--compare", arguments->compare,
                "reference, wavefront, sequential and bound side by side")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "All kernels run in the same model of the chip: docs/tpu.md says what it knows. In JSON,\n"
      "wavefront_seconds is the time of what is chosen where --schedule is auto, else the "
      "wavefront\n"
      "kernel's own.\n"
      "Examples:\n"
      "  cmm tpu simulate --chip v6e --devices 8 --m 1024 --k 5120 --n 51200 --compare\n"
      "  cmm tpu simulate --chip v5p --devices 16 --m 64 --k 8192 --n 57344 --json\n"
      "  cmm tpu simulate --m 2048 --copy-gbytes 400 --search 20000");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
