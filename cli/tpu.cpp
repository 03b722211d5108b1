// cmm tpu: kernels for TPUs, without a TPU.
#include <CLI/CLI.hpp>
#include <vector>

#include "command.hpp"
#include "exit_code.hpp"
#include "tpu_command.hpp"

namespace cmm::cli {

Command add_tpu_command(CLI::App& app) {
  CLI::App* tpu =
      app.add_subcommand("tpu", "kernels for TPUs: simulated, verified, tuned, compiled");
  tpu->require_subcommand(1);
  tpu->footer(
      "None of them needs a TPU. docs/tpu.md leads from a shape to a verified kernel.\n"
      "Examples:\n"
      "  cmm tpu simulate --chip v6e --devices 8 --m 1024 --k 5120 --n 51200 --compare\n"
      "  cmm tpu verify --devices 4 --m 64 --k 256 --n 1024\n"
      "`cmm tpu COMMAND --help` explains a command and shows examples.");
  const std::vector<TpuCommand> commands = {
      add_tpu_simulate_command(*tpu), add_tpu_verify_command(*tpu),  add_tpu_mutants_command(*tpu),
      add_tpu_tune_command(*tpu),     add_tpu_table_command(*tpu),   add_tpu_show_command(*tpu),
      add_tpu_emit_command(*tpu),     add_tpu_compile_command(*tpu), add_tpu_chips_command(*tpu)};
  return {tpu, [commands](World&) {
            for (const TpuCommand& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kWrongArguments;
          }};
}

}  // namespace cmm::cli
