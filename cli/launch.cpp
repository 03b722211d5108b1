// cmm launch: starts the ranks of a job as processes of this machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "cmm/error.hpp"
#include "cmm/mesh.hpp"
#include "command.hpp"
#include "job.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

struct LaunchArguments {
  std::string num_ranks;
  std::string timeout;
  bool tag_output = false;
  std::vector<std::string> program;
};

int launch(const LaunchArguments& arguments) {
  JobOptions options;
  if (arguments.program.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "no program is named; give it last: cmm launch -n 4 -- PROGRAM ARGUMENTS");
  }
  options.num_ranks = static_cast<int>(parse_int("-n", arguments.num_ranks, {1, kMaxRanks}));
  options.program = arguments.program;
  options.tag_output = arguments.tag_output;
  if (!arguments.timeout.empty()) {
    constexpr std::int64_t kYear = 365 * 24 * 3600;
    options.timeout = std::chrono::seconds(parse_int("--timeout", arguments.timeout, {1, kYear}));
  }
  if (const auto rank = rank_environment(); rank.has_value()) {
    throw Error(ErrorCode::kInvalidArgument,
                text("this process is rank ", rank->rank, " of ", rank->num_ranks,
                     " of a job already (CMM_RANK is set); a rank starts no ranks"));
  }
  return run_job(options);
}

}  // namespace

Command add_launch_command(CLI::App& app, std::vector<std::string> program) {
  auto arguments = std::make_shared<LaunchArguments>();
  arguments->program = std::move(program);
  CLI::App* sub = app.add_subcommand("launch", "start a program as the ranks of a job");
  sub->add_option("-n,--ranks", arguments->num_ranks, "processes to start, 1 to 4096")->required();
  sub->add_option("--timeout", arguments->timeout, "end the job after so many seconds");
  sub->add_flag("--tag-output", arguments->tag_output, "precede each line of output by its rank")
      ->disable_flag_override();
  sub->footer(
      "The program and its arguments follow. Each rank finds its place in the environment:\n"
      "Mesh::from_environment, or `cmm run` and the other commands. Rank 0 has this command's\n"
      "standard input, the others have none. When one rank fails the others are ended, and its\n"
      "exit code is that of this command.\n"
      "Examples:\n"
      "  cmm launch -n 4 -- cmm run --check\n"
      "  cmm launch -n 2 --tag-output --timeout 60 -- ./server --port 8000");
  return {sub, [arguments](World&) { return launch(*arguments); }};
}

std::vector<std::string> take_launched_program(std::vector<std::string>& words) {
  constexpr std::string_view kWithValue[] = {"-n", "--ranks", "--timeout"};
  if (words.empty() || words[0] != "launch") return {};
  std::size_t own = 1;  // words of the tool
  while (own < words.size() && words[own] != "--" && words[own].substr(0, 1) == "-") {
    const bool has_value =
        std::find(std::begin(kWithValue), std::end(kWithValue), words[own]) != std::end(kWithValue);
    own = std::min(own + (has_value ? 2 : 1), words.size());
  }
  const bool marked = own < words.size() && words[own] == "--";
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(own);
  std::vector<std::string> program(first + (marked ? 1 : 0), words.end());
  words.erase(first, words.end());
  return program;
}

}  // namespace cmm::cli
