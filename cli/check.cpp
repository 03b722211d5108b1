// cmm check: whether this machine and build multiply right, and with --network how fast its links
// are (check_network.cpp).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "check_network.hpp"
#include "clock.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "progress.hpp"
#include "self_test.hpp"
#include "table.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckArguments {
  bool network = false;
  bool json = false;
};

struct GroupResult {
  SelfTestGroup group;
  std::string definition;
  int num_problems = 0;
  std::int64_t num_elements = 0;
  std::int64_t mismatches = 0;
  std::string first_wrong;  // the problem and the element, or the error
};

GroupResult run_group(World& world, const SelfTestGroup& group) {
  GroupResult result;
  result.group = group;
  for (const Problem& problem : self_test_problems(group, world.num_started())) {
    ++result.num_problems;
    std::string wrong;
    try {
      const Solution solution = solve(world, problem);
      const Comparison comparison = check_outputs(world, solution.data, solution.definition);
      result.definition = definition_text(solution.definition);
      result.num_elements += comparison.num_elements;
      result.mismatches += comparison.mismatches;
      wrong = comparison.first_mismatch;
    } catch (const AgreedError& error) {
      ++result.mismatches;
      wrong = error.what();
    } catch (const Error& error) {
      if (!world.is_one_process()) throw;  // its mesh is all there is
      ++result.mismatches;
      wrong = error.what();
    }
    if (!wrong.empty() && result.first_wrong.empty()) {
      result.first_wrong = problem_text(problem) + ": " + wrong;
    }
  }
  return result;
}

Json json_of(const std::vector<GroupResult>& results, bool right, double seconds) {
  Json groups = Json::array();
  for (const GroupResult& r : results) {
    Json group = {{"isa", isa_name(r.group.isa)}, {"dtype", dtype_name(r.group.dtype)},
                  {"definition", r.definition},   {"problems", r.num_problems},
                  {"elements", r.num_elements},   {"mismatches", r.mismatches}};
    if (r.mismatches > 0) group["first_wrong"] = r.first_wrong;
    groups.push_back(std::move(group));
  }
  return {{"correct", right}, {"seconds", seconds}, {"groups", std::move(groups)}};
}

std::string str_of(const World& world, const std::vector<GroupResult>& results, bool right,
                   double seconds) {
  Table table({"instructions", "type", "definition", "problems", "elements", "wrong", ""});
  int num_problems = 0;
  for (const GroupResult& r : results) {
    table.add({std::string(isa_name(r.group.isa)), std::string(dtype_name(r.group.dtype)),
               r.definition, text(r.num_problems), text(r.num_elements), text(r.mismatches),
               r.first_wrong});
    num_problems += r.num_problems;
  }
  std::string lacks;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (!isa_supported(isa)) lacks += (lacks.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  std::string shown = table.str() + "\n";
  if (!lacks.empty()) shown += "not on this machine, so not tested: " + lacks + "\n";
  const std::string ranks =
      world.num_started() ? text(*world.num_started(), " ranks (", world.transport(), ") and ")
                          : std::string();
  return shown + text(right ? "RIGHT" : "WRONG", ": ", num_problems,
                      " problems with all algorithms, every bit compared, on ", ranks,
                      world.cores().in_all, " cores in ", seconds_text(seconds), "\n");
}

int run(bool json, World& world) {
  const double begin = now_seconds();
  std::vector<GroupResult> results;
  Comparison all;
  {
    Progress progress(world.reports());
    const std::vector<SelfTestGroup> groups = self_test_groups();
    for (const SelfTestGroup& group : groups) {
      progress.show("checking", static_cast<double>(results.size()) / double(groups.size()));
      results.push_back(run_group(world, group));
      all.mismatches += results.back().mismatches;
    }
  }
  const double seconds = now_seconds() - begin;
  const bool right = all.mismatches == 0;
  if (!world.reports()) return exit_code_of(all);
  const std::string shown = json ? json_of(results, right, seconds).dump(2) + "\n"
                                 : str_of(world, results, right, seconds);
  std::fputs(shown.c_str(), stdout);
  return exit_code_of(all);
}

}  // namespace

Command add_check_command(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* sub = app.add_subcommand("check", "self-test of this machine and build, some seconds");
  sub->add_flag("--network", arguments->network,
                "measure the links between the ranks' hosts instead")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of a table")
      ->disable_flag_override();
  sub->footer(
      "Runs every instruction set of this machine, every algorithm and type on small odd shapes\n"
      "and compares every bit with products computed apart. Exit code 1 when anything is wrong.\n"
      "With --network it measures instead what --link-gbit and --link-us of other commands should\n"
      "say, between ranks that were started on several hosts.\n"
      "Examples:\n"
      "  cmm check\n"
      "  mpirun -n 4 --host A:2,B:2 cmm check --network");
  return {sub, [arguments](World& world) {
            return arguments->network ? check_network(arguments->json, world)
                                      : run(arguments->json, world);
          }};
}

}  // namespace cmm::cli
