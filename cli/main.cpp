// cmm: the all-gather matmul for people. Exit codes: 0 done and right, 1 a wrong result, 2 wrong
// arguments, 3 the outside world (files, memory, deadlines).
#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/error.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "history_signal.hpp"
#include "problem_options.hpp"
#include "same_arguments.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

// Where a standard stream is closed, the next file opened would take its place, and what is
// printed would go into it. Reading yields nothing there and writing fails.
void occupy_standard_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
  }
}

// What has been printed counts only once it has left the process.
int flushed(int exit_code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  // What is longer than the buffer has failed before, and its errno is gone: once more says why.
  if (errno == 0) {
    std::clearerr(stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
  }
  const std::string reason = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  say("", "cannot write to standard output" + reason);
  return exit_code == kDone ? kOutsideWorld : exit_code;
}

std::string command_list(const CLI::App& app) {
  return joined(app.get_subcommands(nullptr), ", ", &CLI::App::get_name);
}

// The commands of a command line, outermost first: "tpu", "simulate".
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> named;
  for (auto inner = app.get_subcommands(); !inner.empty(); inner = inner[0]->get_subcommands()) {
    named.push_back(inner[0]);
  }
  return named;
}

std::string spoken(const std::vector<const CLI::App*>& named) {
  return joined(named, " ", &CLI::App::get_name);
}

// Where a command is missing: `word` stands in its place.
std::string missing_command(const std::vector<const CLI::App*>& named, const CLI::App& app,
                            std::string_view word) {
  const CLI::App& parent = named.empty() ? app : *named.back();
  const std::string before = named.empty() ? "" : spoken(named) + " ";
  const std::string there = "; the commands are " + command_list(parent);
  if (!word.empty()) return "'" + before + std::string(word) + "' is no command" + there;
  return named.empty() ? "no command given" + there
                       : "no command given after " + spoken(named) + there;
}

// One line for what the argument library rejects. Its own words stand where they say enough.
std::string message_of(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  const std::vector<const CLI::App*> named = named_commands(app);
  if (!(named.empty() ? app : *named.back()).get_subcommands(nullptr).empty()) {
    const int at = static_cast<int>(named.size()) + 1;
    return missing_command(named, app, argc > at ? argv[at] : "");
  }
  std::string what = error.what();
  const std::string name = what.substr(0, what.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (what.find("missing") != std::string::npos) what = name + " needs a value";
    if (what.find("received") != std::string::npos) what = name + " is given more than once";
    const std::size_t override_at = what.find(" was given a disallowed flag override");
    if (override_at != std::string::npos)
      what = "--" + what.substr(0, override_at) + " takes no value";
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    what = "unknown argument";
    for (const std::string& word : app.remaining(true)) what += " " + word;
  }
  return what + "; `cmm " + spoken(named) + " --help` lists what there is";
}

// The commands that run on ranks, which others may have started.
bool runs_on_ranks(std::string_view command) {
  constexpr std::string_view kCommands[] = {"run", "multiply", "plan", "check", "bench"};
  return std::find(std::begin(kCommands), std::end(kCommands), command) != std::end(kCommands);
}

// Of the command that has been parsed, as far as it has been.
GivenArguments given_arguments(const CLI::App& app) {
  GivenArguments given;
  for (const CLI::App* command : app.get_subcommands()) {
    given.command = command->get_name();
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      const std::string value =
          option->get_items_expected_max() > 0 ? joined(option->results(), " ") : std::string();
      given.arguments.push_back({option->get_name(), value});
    }
  }
  return given;
}

int run_tool(int argc, char** argv, World& world) {
  CLI::App app{
      "All-gather matmul: out = all_gather(x) * y on ranks that split x by rows and y by "
      "columns.",
      "cmm"};
  app.set_version_flag("--version", "cmm " CMM_VERSION);
  app.require_subcommand(1);
  app.footer("`cmm COMMAND --help` explains a command and shows examples.");
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::vector<std::string> program = take_launched_program(words);
  std::reverse(words.begin(), words.end());  // the parser takes the last word first
  const std::vector<Command> commands = {
      add_run_command(app),   add_multiply_command(app),
      add_plan_command(app),  add_simulate_command(app),
      add_check_command(app), add_bench_command(app),
      add_tpu_command(app),   add_launch_command(app, std::move(program))};
  std::optional<CLI::Success> printed;  // --help, --version
  together(world, [&] {
    try {
      app.parse(words);
    } catch (const CLI::Success& request) {
      printed = request;
    } catch (const CLI::ParseError& error) {
      throw Error(ErrorCode::kInvalidArgument, message_of(error, app, argc, argv));
    }
  });
  check_same_arguments(world, given_arguments(app));
  if (printed) return world.reports() ? app.exit(*printed) : kDone;
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run(world);
  }
  return kWrongArguments;
}

// What the exception in flight means for the process.
Failure current_failure() {
  try {
    throw;
  } catch (const AgreedError& error) {
    return {error.what(), exit_code_of(error.code()), error.rank(), true};
  } catch (const Error& error) {
    return {error.what(), exit_code_of(error.code()), error.rank(), false};
  } catch (const std::bad_alloc&) {
    return {"out of memory", kOutsideWorld};
  } catch (const std::exception& error) {
    return {error.what(), kOutsideWorld};
  }
}

}  // namespace
}  // namespace cmm::cli

int main(int argc, char** argv) {
  using namespace cmm::cli;
  occupy_standard_streams();
  show_history_on_signal();
  Started started;
  std::unique_ptr<World> world;
  try {
    if (argc > 1 && runs_on_ranks(argv[1])) started = started_from_environment();
    world = find_world(started, given_deadline({argv, argv + argc}));
    return world->finish(flushed(run_tool(argc, argv, *world)));
  } catch (...) {
    const Failure failure = current_failure();
    if (world) return world->fail(failure);
    say_in_turn({started.rank, started.rank == 0}, failure.text);
    return failure.exit_code;
  }
}
