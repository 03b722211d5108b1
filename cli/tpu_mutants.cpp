// cmm tpu mutants: whether every small fault of a kernel is seen.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "add_option.hpp"
#include "clock.hpp"
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
using tpu::MutantResult;

struct MutantsArguments {
  TpuOptions tpu;
  VerificationFlags how;
  bool list = false;
  bool json = false;
};

struct Totals {
  int caught = 0;
  int equivalent = 0;
  int missed = 0;
  int all() const { return caught + equivalent + missed; }
};

void count(Totals& totals, const MutantResult& result) {
  totals.caught += result.caught ? 1 : 0;
  totals.equivalent += !result.caught && !result.missed() ? 1 : 0;
  totals.missed += result.missed() ? 1 : 0;
}

const char* verdict_of(const MutantResult& result) {
  return result.caught ? "caught" : result.missed() ? "MISSED" : "equivalent";
}

// A cause may be a table of many lines: its first says what it is.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Json json_of(const std::vector<MutantResult>& results, const Totals& totals, double seconds) {
  Json mutants = Json::array();
  for (const MutantResult& result : results) {
    Json mutant = {{"number", result.number},
                   {"name", result.name},
                   {"kind", result.kind},
                   {"verdict", result.missed() ? "missed" : verdict_of(result)},
                   {"runs", result.num_runs}};
    if (result.caught) mutant["cause"] = result.cause;
    if (!result.equivalent.empty()) mutant["because"] = result.equivalent;
    mutants.push_back(std::move(mutant));
  }
  return {{"mutants", totals.all()}, {"caught", totals.caught}, {"equivalent", totals.equivalent},
          {"missed", totals.missed}, {"seconds", seconds},      {"verdicts", std::move(mutants)}};
}

std::string str_of(const std::vector<MutantResult>& results, const Totals& totals, double seconds,
                   bool list) {
  std::string shown;
  std::map<std::string, Totals> kinds;
  for (const MutantResult& result : results) {
    count(kinds[result.kind], result);
    if (list || result.missed()) {
      shown += text(result.number, "  ", verdict_of(result), "  ", result.name,
                    result.caught     ? ": " + first_line(result.cause)
                    : result.missed() ? ""
                                      : ": " + result.equivalent,
                    "\n");
    }
  }
  if (!shown.empty()) shown += "\n";
  Table table({"kind of fault", "mutants", "caught", "equivalent", "missed"});
  for (const auto& [kind, of_kind] : kinds) {
    table.add({kind, text(of_kind.all()), text(of_kind.caught), text(of_kind.equivalent),
               text(of_kind.missed)});
  }
  table.add({"all", text(totals.all()), text(totals.caught), text(totals.equivalent),
             text(totals.missed)});
  return shown + table.str() +
         text("\n",
              totals.missed == 0 ? "RIGHT: every fault that changes anything is seen"
                                 : "WRONG: faults are missed",
              ", in ", seconds_text(seconds), "\n");
}

int run(const MutantsArguments& arguments) {
  const double begin = now_seconds();
  std::vector<MutantResult> results;
  {
    Progress progress(true);
    results = tpu::try_all_mutants(
        arguments.tpu.problem(), arguments.tpu.chip(), arguments.tpu.kernel(),
        arguments.how.options(),
        [&](int done, int all) { progress.show("trying faults", double(done) / double(all)); });
  }
  Totals totals;
  for (const MutantResult& result : results) count(totals, result);
  const double seconds = now_seconds() - begin;
  const std::string shown = arguments.json ? json_of(results, totals, seconds).dump(2) + "\n"
                                           : str_of(results, totals, seconds, arguments.list);
  std::fputs(shown.c_str(), stdout);
  return totals.missed == 0 ? kDone : kWrongResult;
}

}  // namespace

TpuCommand add_tpu_mutants_command(CLI::App& tpu) {
  auto arguments = std::make_shared<MutantsArguments>();
  CLI::App* sub = tpu.add_subcommand("mutants", "try every small fault of a kernel: is it seen?");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {.num_devices = 4, .m = 64, .k = 256, .n = 1024});
  arguments->tpu.add_kernel_to(*sub);
  arguments->how.add_to(*sub);
  sub->add_flag("--list", arguments->list, "every fault with its verdict, not only those missed")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of tables")->disable_flag_override();
  sub->footer(
      "Drops or changes one start, wait, signal, neighbour, slot, semaphore, offset or amount at "
      "a\n"
      "time and verifies the result. A fault is caught with its cause, or equivalent with the "
      "reason\n"
      "why it changes nothing, or missed: exit code 1.\n"
      "Examples:\n"
      "  cmm tpu mutants --devices 4 --m 64 --k 256 --n 1024\n"
      "  cmm tpu mutants --schedule reference --devices 3 --m 48 --k 256 --n 768 --bn 128 --bk 128 "
      "--list\n"
      "  cmm tpu mutants --devices 2 --json");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
