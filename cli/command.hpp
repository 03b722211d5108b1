// The commands of the tool: each file adds its flags to the parser and says what to run.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cmm::cli {

class World;

// Runs a command whose flags have been parsed, on every process of the world alike; returns kDone
// or kWrongResult (exit_code.hpp). Other failures are thrown.
using RunCommand = std::function<int(World&)>;

struct Command {
  CLI::App* app = nullptr;
  RunCommand run;
};
// Each adds one subcommand to `app`.
Command add_run_command(CLI::App& app);
Command add_multiply_command(CLI::App& app);
Command add_plan_command(CLI::App& app);
Command add_simulate_command(CLI::App& app);
Command add_check_command(CLI::App& app);
Command add_bench_command(CLI::App& app);
Command add_tpu_command(CLI::App& app);  // with commands of its own
// `program`: what take_launched_program() has taken.
Command add_launch_command(CLI::App& app, std::vector<std::string> program);

// Where the words are those of `cmm launch`, cuts off the program and its arguments, which are none
// of the tool's: what follows "--", or the first word that is no flag.
std::vector<std::string> take_launched_program(std::vector<std::string>& words);

}  // namespace cmm::cli
