// The commands of `cmm tpu`. They run on no ranks.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace cmm::cli {

struct TpuCommand {
  CLI::App* app = nullptr;
  std::function<int()> run;  // kDone or kWrongResult; other failures are thrown
};
// Each adds one subcommand to `tpu`.
TpuCommand add_tpu_simulate_command(CLI::App& tpu);
TpuCommand add_tpu_verify_command(CLI::App& tpu);
TpuCommand add_tpu_mutants_command(CLI::App& tpu);
TpuCommand add_tpu_tune_command(CLI::App& tpu);
TpuCommand add_tpu_table_command(CLI::App& tpu);
TpuCommand add_tpu_show_command(CLI::App& tpu);
TpuCommand add_tpu_chips_command(CLI::App& tpu);
TpuCommand add_tpu_emit_command(CLI::App& tpu);
TpuCommand add_tpu_compile_command(CLI::App& tpu);

}  // namespace cmm::cli
