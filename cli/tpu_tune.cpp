// cmm tpu tune: parameters of the wavefront kernel for one shape.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "add_option.hpp"
#include "arguments.hpp"
#include "clock.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_command.hpp"
#include "tpu_emit_options.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TuneArguments {
  TpuOptions tpu;
  MachineFlags machine;
  tpu::TuneOptions tune;
  int num_verified = 0;  // 0: the model's word is taken
  tpu::CompileOptions compile;
  bool json = false;
};

Json json_of(const tpu::VerifiedCandidate& candidate) {
  if (!candidate.refused.empty()) {
    return {{"parameters", candidate.parameters},
            {"model_seconds", candidate.model_seconds},
            {"refused", candidate.refused}};
  }
  return {{"parameters", candidate.parameters},
          {"model_seconds", candidate.model_seconds},
          {"seconds", candidate.seconds},
          {"product_cycles", candidate.report.product_cycles},
          {"model_cycles", candidate.report.model_cycles},
          {"control_cycles", candidate.report.control_cycles},
          {"mxu_busy", candidate.report.mxu_busy},
          {"spill_bytes", candidate.report.spill_bytes}};
}

std::string str_of(const std::vector<tpu::VerifiedCandidate>& candidates) {
  Table table;
  table.add({"by model", "by compiler", "product", "model", "control", "MXU busy", "spilled",
             "parameters"});
  std::string refusals;
  for (const tpu::VerifiedCandidate& candidate : candidates) {
    const tpu::CompileReport& report = candidate.report;
    if (!candidate.refused.empty()) {
      table.add({seconds_text(candidate.model_seconds), "refused", "-", "-", "-", "-", "-",
                 candidate.parameters});
      refusals += candidate.refused + "\n";
      continue;
    }
    table.add({seconds_text(candidate.model_seconds), seconds_text(candidate.seconds),
               text(report.product_cycles), text(report.model_cycles), text(report.control_cycles),
               percent_text(report.mxu_busy), bytes_text(report.spill_bytes),
               candidate.parameters});
  }
  return table.str() + refusals;
}

int run(const TuneArguments& arguments) {
  const tpu::Problem problem = arguments.tpu.problem();
  const tpu::Chip chip = arguments.tpu.chip();
  tpu::TuneOptions options = arguments.tune;
  options.slice = arguments.machine.slice();
  options.copy_bytes_per_second = arguments.machine.copy_bytes_per_second();
  const double begin = now_seconds();
  tpu::VerifiedTuning verified;
  if (arguments.num_verified > 0) {
    verified =
        tpu::tune_verified(problem, chip, arguments.num_verified, options, arguments.compile);
  } else {
    verified.tuned = tpu::tune(problem, chip, options);
  }
  const tpu::Tuned& tuned = verified.tuned;
  const double took = now_seconds() - begin;
  std::string shown;
  if (arguments.json) {
    Json json = {{"chip", chip.name},
                 {"parameters", tuned.parameters},
                 {"seconds", tuned.seconds},
                 {"planned_seconds", tuned.planned_seconds},
                 {"bound_seconds", tuned.bound.seconds},
                 {"candidates", options.num_candidates},
                 {"seed", options.seed},
                 {"search_seconds", took}};
    for (const tpu::VerifiedCandidate& candidate : verified.candidates) {
      json["verified"].push_back(json_of(candidate));
    }
    shown = json.dump(2) + "\n";
  } else {
    Table table;
    table.add({"problem", text(chip.name, ", ", problem_text(problem))});
    table.add({"found", text(seconds_text(tuned.seconds), ", ",
                             percent_text(tuned.bound.seconds / tuned.seconds), " of the bound")});
    table.add({"by rule", seconds_text(tuned.planned_seconds)});
    table.add({"search", text(options.num_candidates, " candidates in ", seconds_text(took))});
    shown = table.str();
    if (!verified.candidates.empty()) shown += "\n" + str_of(verified.candidates);
    shown += "\n--parameters '" + tuned.parameters + "'\n";
  }
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace

TpuCommand add_tpu_tune_command(CLI::App& tpu) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* sub = tpu.add_subcommand("tune", "search parameters of the wavefront kernel");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {});
  arguments->machine.add_to(*sub);
  add_int(*sub, "--search", arguments->tune.num_candidates, {1, 10'000'000},
          text("candidates to try (default: ", arguments->tune.num_candidates, ")"));
  add_seed(*sub, arguments->tune.seed, "of the search");
  add_int(*sub, "--verify", arguments->num_verified, {1, 100},
          "compile the best N candidates with libtpu and choose by the cycles of its schedules");
  add_libtpu_to(*sub, arguments->compile);
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Searches over piece and block sizes, tile bodies, tile order and slots within the chip's\n"
      "VMEM, timed by the model. `simulate`, `verify` and `show` take what it prints.\n"
      "--verify asks the real compiler about those that multiply different tiles.\n"
      "Examples:\n"
      "  cmm tpu tune --m 1024 --k 5120 --n 51200\n"
      "  cmm tpu tune --chip v5p --devices 4 --m 512 --k 8192 --n 28672 --search 2000 --json\n"
      "  cmm tpu tune --m 1024 --k 5120 --n 51200 --verify 3 --libtpu build/libtpu/0.0.52");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
