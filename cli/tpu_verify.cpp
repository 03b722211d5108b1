// cmm tpu verify: whether a kernel is right, on virtual devices; and of a sweep of kernels.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "add_option.hpp"
#include "arguments.hpp"
#include "clock.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_command.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;
using tpu::Verification;

// Of each kernel of a sweep, where nothing else is asked for: some hundred kernels take a minute.
constexpr int kSweepInterleavings = 4;

struct VerifyArguments {
  TpuOptions tpu;
  VerificationFlags how;
  std::optional<int> mutant;
  bool sweep = false;
  bool json = false;
};

std::string how_flags(const tpu::VerificationOptions& how) {
  return text(" --interleavings ", how.num_interleavings, " --seed ", how.seed);
}

Json json_of(const Verification& result, const std::string& reproduce) {
  Json json = {{"right", result.right},
               {"proved", result.proved},
               {"schedule", tpu::schedule_name(result.kernel.schedule)},
               {"kernel", result.kernel.name},
               {"parameters", result.kernel.parameters},
               {"runs", result.num_runs},
               {"seconds", result.seconds}};
  if (!result.right) {
    json["fault"] = result.fault;
    json["text"] = result.text;
    json["run"] = result.run;
    json["reproduce"] = reproduce;
  }
  return json;
}

std::string fault_text(const Verification& result, const std::string& reproduce) {
  return text(result.fault, "\n", result.text, "\n",
              result.run.empty() ? "" : "in the run: " + result.run + "\n", "again: ", reproduce,
              "\n");
}

int verify_one(const VerifyArguments& arguments) {
  const tpu::Problem problem = arguments.tpu.problem();
  const tpu::Chip chip = arguments.tpu.chip();
  const tpu::KernelOptions kernel = arguments.tpu.kernel();
  const tpu::VerificationOptions how = arguments.how.options();
  const Verification result =
      arguments.mutant ? tpu::verify_mutant(problem, chip, kernel, *arguments.mutant, how)
                       : tpu::verify(problem, chip, kernel, how);
  const std::string reproduce = text(
      "cmm tpu verify ", arguments.tpu.chip_flags(), " ", flags_of(problem, kernel), how_flags(how),
      arguments.mutant ? text(" --mutant ", *arguments.mutant) : std::string());
  std::string shown;
  if (arguments.json) {
    shown = json_of(result, reproduce).dump(2) + "\n";
  } else {
    Table table;
    table.add({"problem", problem_text(problem)});
    table.add({"schedule", kernel_choice_text(kernel, result.kernel.schedule)});
    table.add({"kernel", result.kernel.name});
    if (!result.mutant.empty()) table.add({"fault put in", result.mutant});
    if (!result.kernel.parameters.empty()) table.add({"parameters", result.kernel.parameters});
    table.add({"program", text(result.kernel.num_statements, " statements, ",
                               result.kernel.num_steps, " steps, ", result.kernel.num_semaphores,
                               " semaphores, ", bytes_text(result.kernel.vmem_bytes), " of VMEM")});
    shown = table.str() + "\n";
    shown += result.right ? text("RIGHT: ", result.num_runs, " runs in ",
                                 seconds_text(result.seconds), ", every bit compared",
                                 result.proved ? "; no other order is possible\n" : "\n")
                          : "WRONG: " + fault_text(result, reproduce);
  }
  std::fputs(shown.c_str(), stdout);
  return result.right ? kDone : kWrongResult;
}

// A kernel of the sweep that is refused is as wrong as one with a fault: all of them should be had.
Verification verify_case(const tpu::SweepCase& it, const tpu::Chip& chip,
                         const tpu::VerificationOptions& how) {
  try {
    return tpu::verify(it.problem, chip, it.options, how);
  } catch (const Error& error) {
    Verification refused;
    refused.fault = "refused";
    refused.text = error.what();
    return refused;
  }
}

int verify_sweep(const VerifyArguments& arguments) {
  const tpu::Chip chip = arguments.tpu.chip();
  const double begin = now_seconds();
  const tpu::VerificationOptions how = arguments.how.options(kSweepInterleavings);
  const std::vector<tpu::SweepCase> cases = tpu::sweep(chip);
  Json lines = Json::array();
  int num_wrong = 0, num_proved = 0;
  std::int64_t num_runs = 0;
  Progress progress(true);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const tpu::SweepCase& it = cases[i];
    progress.show("verifying", static_cast<double>(i) / static_cast<double>(cases.size()));
    const Verification result = verify_case(it, chip, how);
    const std::string reproduce = text("cmm tpu verify ", arguments.tpu.chip_flags(), " ",
                                       flags_of(it.problem, it.options), how_flags(how));
    num_runs += result.num_runs;
    num_wrong += result.right ? 0 : 1;
    num_proved += result.proved ? 1 : 0;
    if (arguments.json) {
      Json line = {{"name", it.name}};
      line.update(json_of(result, reproduce));
      lines.push_back(std::move(line));
      continue;
    }
    progress.clear();
    const std::string line =
        text(result.right ? "right  " : "WRONG  ", it.name, ": ", result.num_runs, " runs, ",
             seconds_text(result.seconds), "\n", result.right ? "" : fault_text(result, reproduce));
    std::fputs(line.c_str(), stdout);
  }
  progress.clear();
  const double seconds = now_seconds() - begin;
  const std::string shown =
      arguments.json
          ? Json{{"right", num_wrong == 0},  {"kernels", cases.size()}, {"wrong", num_wrong},
                 {"proved", num_proved},     {"runs", num_runs},        {"seconds", seconds},
                 {"cases", std::move(lines)}}
                    .dump(2) +
                "\n"
          : text("\n", num_wrong == 0 ? "RIGHT" : "WRONG", ": ", cases.size(), " kernels, ",
                 num_wrong, " wrong, ", num_proved, " proved, ", num_runs, " runs in ",
                 seconds_text(seconds), "\n");
  std::fputs(shown.c_str(), stdout);
  return num_wrong == 0 ? kDone : kWrongResult;
}

}  // namespace

TpuCommand add_tpu_verify_command(CLI::App& tpu) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* sub = tpu.add_subcommand("verify", "prove a kernel right on virtual devices");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {.num_devices = 4, .m = 64, .k = 256, .n = 1024});
  arguments->tpu.add_kernel_to(*sub);
  arguments->how.add_to(*sub);
  add_int(*sub, "--mutant", arguments->mutant, {0, 1'000'000},
          "put in one fault, by its number in `cmm tpu mutants --list`: what does it look like?");
  sub->add_flag("--sweep", arguments->sweep,
                "a sweep over P, types, ragged extents and both kernels instead of one shape")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Runs the kernel on virtual devices with real data: copies at once, only when somebody "
      "waits,\n"
      "or in random pieces; each device late in turn; two calls back to back; and random\n"
      "interleavings. Races, deadlocks, semaphores left over and wrong bits are faults: exit code "
      "1,\n"
      "with a line that runs the same again.\n"
      "Examples:\n"
      "  cmm tpu verify --devices 4 --m 64 --k 256 --n 1024 --interleavings 200\n"
      "  cmm tpu verify --schedule reference --devices 8 --m 128 --k 256 --n 2048 --bn 128 --bk "
      "128\n"
      "  cmm tpu verify --mesh 2x4 --axis 1 --m 50 --k 200 --n 520 --dtype int8 --gathered\n"
      "  cmm tpu verify --sweep --json");
  return {sub, [arguments, sub] {
            if (!arguments->sweep) return verify_one(*arguments);
            TpuOptions::refuse_shape_and_kernel(*sub, "--sweep");
            if (arguments->mutant) {
              throw Error(ErrorCode::kInvalidArgument,
                          "--mutant is given, but --sweep puts no fault in; leave one of them out");
            }
            return verify_sweep(*arguments);
          }};
}

}  // namespace cmm::cli
