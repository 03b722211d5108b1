// cmm run: makes a problem, runs it, measures it beside its bound and baselines, checks it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/error.hpp"
#include "cmm/machine.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "files/output_file.hpp"
#include "files/text_file.hpp"
#include "files/unfinished_file.hpp"
#include "measure.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "problem_options.hpp"
#include "progress.hpp"
#include "run_report.hpp"
#include "text.hpp"
#include "trace_file.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

constexpr int kMaxRepeats = 1'000'000;
constexpr std::int64_t kTraceSpans = std::int64_t{1} << 20;

struct RunArguments {
  ProblemOptions problem;
  std::optional<int> repeats;
  bool check = false;
  bool json = false;
  std::string trace_path;
};

std::int64_t needed_bytes(const World& world, const Problem& problem,
                          const RunArguments& arguments) {
  const std::int64_t bytes = saturating_sum(
      world.bytes_on_machine(saturating_sum(problem_bytes(problem),
                                            measure_bytes(problem, {.repeats = arguments.repeats})),
                             problem.ranks),
      kMeasureMachineBytes);  // rank 0 measures its machine while all hold their data
  if (!arguments.check) return bytes;
  const std::int64_t widened_x =
      saturating_product(saturating_product(problem.m, problem.k),
                         world.cores().processes_on_machine * std::int64_t{sizeof(float)});
  const std::int64_t sums =
      saturating_product(problem.m, std::int64_t{sizeof(float)} * 256 * 2 * num_cores());
  return saturating_sum(bytes, saturating_sum(widened_x, sums));
}

void write_trace(World& world, ProblemData& data, const std::string& path) {
  const Recording recording = record_call(world, data, kTraceSpans);
  together(world, [&] {
    if (!world.reports()) return;
    files::write_text(path, trace_events_json(recording.spans));
    if (recording.num_dropped > 0) {
      say("", text(path, " lacks ", recording.num_dropped, " spans, which did not fit"));
    }
  });
}

int run(const RunArguments& arguments, World& world) {
  RunReport report;
  std::optional<ProblemData> data;
  together(world, [&] {
    report.problem = arguments.problem.problem(world);
    check_memory(needed_bytes(world, report.problem, arguments), "this problem");
    if (!arguments.trace_path.empty() && world.reports()) {
      files::remove_unfinished_files_on_signals();
      files::OutputFile(arguments.trace_path, 1);  // a bad name is refused before the work
    }
  });
  const Problem& problem = report.problem;
  warn_where_bound(world, problem.threads);
  together(world, [&] { data.emplace(world, problem); });

  report.transport = world.transport();
  report.num_hosts = world.num_hosts();
  {
    Progress progress(world.reports());
    report.measured =
        measure(world, *data, {.repeats = arguments.repeats, .progress = [&](int done, int of) {
                                 progress.show("measuring", double(done) / of);
                               }});
    if (world.reports()) {
      report.peak =
          machine_peak(report.measured.plan.isa, problem.dtype, cores_in_use(world, problem));
    }
    if (arguments.check) {
      report.check = check_outputs(world, *data, definition_of(problem, report.measured.engine),
                                   [&](double done) { progress.show("checking", done); });
    }
  }
  report.output_hash = output_hash(world, *data);
  if (!arguments.trace_path.empty()) write_trace(world, *data, arguments.trace_path);
  if (world.reports()) {
    const std::string shown = arguments.json ? report.json().dump(2) + "\n" : report.str();
    std::fputs(shown.c_str(), stdout);
  }
  return exit_code_of(report.check);
}

}  // namespace

Command add_run_command(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* sub = app.add_subcommand("run", "make a problem, run it, measure and check it");
  arguments->problem.add_data_to(*sub);
  arguments->problem.add_execution_to(*sub);
  add_value(
      *sub, "--repeats",
      [arguments](const std::string& word) {
        arguments->repeats = static_cast<int>(parse_int("--repeats", word, {1, kMaxRepeats}));
      },
      "measured calls (default: about two seconds' worth)", "N");
  sub->add_flag("--check", arguments->check,
                "compare every output element with a product computed apart")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of tables")->disable_flag_override();
  add_file(*sub, "--trace", arguments->trace_path,
           "write a timeline of one call, for ui.perfetto.dev");
  sub->footer(
      "Examples:\n"
      "  cmm run --ranks 4 --m 512 --k 4096 --n 28672 --dtype bf16 --check\n"
      "  cmm run --rows 3,0,5 --k 64 --n 100 --dtype f32 --algorithm ring --check\n"
      "  cmm run --m 1 --k 4096 --n 14336 --weights 2 --json\n"
      "  cmm run --m 2048 --trace call.json");
  return {sub, [arguments](World& world) { return run(*arguments, world); }};
}

}  // namespace cmm::cli
