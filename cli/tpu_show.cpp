// cmm tpu show: a kernel as text.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "add_option.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_command.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ShowArguments {
  TpuOptions tpu;
  bool program = false;
  bool json = false;
};

Json json_of(const tpu::KernelDescription& kernel) {
  return {{"schedule", tpu::schedule_name(kernel.schedule)},
          {"kernel", kernel.name},
          {"parameters", kernel.parameters},
          {"vmem_bytes", kernel.vmem_bytes},
          {"num_semaphores", kernel.num_semaphores},
          {"num_steps", kernel.num_steps},
          {"table_words", kernel.table_words},
          {"num_statements", kernel.num_statements},
          {"flops", kernel.flops},
          {"hbm_bytes", kernel.hbm_bytes},
          {"remote_bytes", kernel.remote_bytes}};
}

std::string str_of(const tpu::Chip& chip, const tpu::Problem& problem,
                   const tpu::KernelOptions& options, const tpu::KernelDescription& kernel) {
  Table table;
  table.add({"problem", problem_text(problem)});
  table.add({"schedule", kernel_choice_text(options, kernel.schedule)});
  table.add({"kernel", kernel.name});
  table.add({"parameters", kernel.parameters});
  table.add({"VMEM", text(bytes_text(kernel.vmem_bytes), " of ", bytes_text(chip.vmem_bytes))});
  table.add({"semaphores", text(kernel.num_semaphores, " of ", chip.num_semaphores)});
  table.add({"steps", text(kernel.num_steps)});
  if (kernel.table_words > 0) {
    table.add({"table", text(bytes_text(4 * kernel.table_words), " of ",
                             bytes_text(chip.smem_bytes), " SMEM")});
  }
  table.add({"program", text(kernel.num_statements, " statements")});
  table.add({"work", text(kernel.flops, " flops of one device")});
  table.add({"HBM", bytes_text(kernel.hbm_bytes)});
  table.add({"sent", bytes_text(kernel.remote_bytes)});
  return table.str();
}

int run(const ShowArguments& arguments) {
  const tpu::Problem problem = arguments.tpu.problem();
  const tpu::Chip chip = arguments.tpu.chip();
  const tpu::KernelOptions options = arguments.tpu.kernel();
  const tpu::KernelDescription kernel = tpu::describe(problem, chip, options);
  const std::string program =
      arguments.program ? tpu::kernel_text(problem, chip, options) : std::string();
  std::string shown;
  if (arguments.json) {
    Json json = json_of(kernel);
    if (arguments.program) json["program"] = program;
    shown = json.dump(2) + "\n";
  } else {
    shown = str_of(chip, problem, options, kernel) + (arguments.program ? "\n" + program : "");
  }
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace

TpuCommand add_tpu_show_command(CLI::App& tpu) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* sub = tpu.add_subcommand("show", "what a kernel is and needs, and its program");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {});
  arguments->tpu.add_kernel_to(*sub);
  sub->add_flag("--program", arguments->program, "the program of one device, and its table")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Examples:\n"
      "  cmm tpu show --m 1024 --k 5120 --n 51200\n"
      "  cmm tpu show --devices 4 --m 64 --k 256 --n 1024 --schedule reference --program");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
