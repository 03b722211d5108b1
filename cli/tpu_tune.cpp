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
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TuneArguments {
  TpuOptions tpu;
  MachineFlags machine;
  tpu::TuneOptions tune;
  bool json = false;
};

int run(const TuneArguments& arguments) {
  const tpu::Problem problem = arguments.tpu.problem();
  const tpu::Chip chip = arguments.tpu.chip();
  tpu::TuneOptions options = arguments.tune;
  options.slice = arguments.machine.slice();
  options.copy_bytes_per_second = arguments.machine.copy_bytes_per_second();
  const double begin = now_seconds();
  const tpu::Tuned tuned = tpu::tune(problem, chip, options);
  const double took = now_seconds() - begin;
  std::string shown;
  if (arguments.json) {
    shown = Json{{"chip", chip.name},
                 {"parameters", tuned.parameters},
                 {"seconds", tuned.seconds},
                 {"planned_seconds", tuned.planned_seconds},
                 {"bound_seconds", tuned.bound.seconds},
                 {"candidates", options.num_candidates},
                 {"seed", options.seed},
                 {"search_seconds", took}}
                .dump(2) +
            "\n";
  } else {
    Table table;
    table.add({"problem", text(chip.name, ", ", problem_text(problem))});
    table.add({"found", text(seconds_text(tuned.seconds), ", ",
                             percent_text(tuned.bound.seconds / tuned.seconds), " of the bound")});
    table.add({"by rule", seconds_text(tuned.planned_seconds)});
    table.add({"search", text(options.num_candidates, " candidates in ", seconds_text(took))});
    shown = table.str() + "\n--parameters '" + tuned.parameters + "'\n";
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
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Searches over piece and block sizes, tile bodies, tile order and slots within the chip's\n"
      "VMEM, timed by the model. `simulate`, `verify` and `show` take what it prints.\n"
      "Examples:\n"
      "  cmm tpu tune --m 1024 --k 5120 --n 51200\n"
      "  cmm tpu tune --chip v5p --devices 4 --m 512 --k 8192 --n 28672 --search 2000 --json");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
