// cmm plan: what a problem would do, without its data.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/cmm.hpp"
#include "combine.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "problem_options.hpp"
#include "table.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxPictureRanks = 8;  // of Plan::picture

constexpr int kMaxTableRanks = 16;

struct PlanArguments {
  ProblemOptions problem;
  std::optional<int> on_hosts;
  bool json = false;
};

// What differs between the ranks.
struct RankPlan {
  std::int64_t received_bytes = 0;
  std::int64_t copied_bytes = 0;
  std::int64_t workspace_bytes = 0;
  double multiply_seconds = 0;
  double gather_seconds = 0;
  double exposed_seconds = 0;
  double expected_seconds = 0;
};

struct Explained {
  Explanation plan;             // of the lowest rank of this process
  std::vector<RankPlan> ranks;  // of all
  std::string picture;          // empty where there are too many ranks for one
};

RankPlan rank_plan_of(const Explanation& plan) {
  return {plan.received_bytes, plan.copied_bytes,    plan.workspace_bytes, plan.multiply_seconds,
          plan.gather_seconds, plan.exposed_seconds, plan.expected_seconds};
}

// Collective over the processes.
Explained explain_all_ranks(World& world, const Problem& problem) {
  const RankRange here = world.ranks_here(problem.ranks);
  Explained explained;
  std::vector<RankPlan> mine(static_cast<std::size_t>(here.count));
  world.run(problem.ranks, problem.deadline, [&](Rank& at) {
    const Plan plan = make_plan(at.axis(), shape_of(problem, at.rank()), options_of(problem));
    const Explanation explanation = plan.explain();
    mine[static_cast<std::size_t>(at.rank() - here.first)] = rank_plan_of(explanation);
    if (at.rank() != here.first) return;
    explained.plan = explanation;
    if (problem.ranks <= kMaxPictureRanks) explained.picture = plan.picture();
  });
  explained.ranks = joined_values(world, mine);
  return explained;
}

Json rank_json(const Problem& problem, int rank, const RankPlan& plan) {
  const RankPart part = part_of(problem, rank);
  return {{"rank", rank},
          {"rows", part.rows},
          {"columns", part.cols},
          {"received_bytes", plan.received_bytes},
          {"copied_bytes", plan.copied_bytes},
          {"workspace_bytes", plan.workspace_bytes},
          {"multiply_seconds", plan.multiply_seconds},
          {"gather_seconds", plan.gather_seconds},
          {"exposed_seconds", plan.exposed_seconds},
          {"expected_seconds", plan.expected_seconds}};
}

Json plans_json(const Problem& problem, const Explained& explained) {
  const Explanation& plan = explained.plan;
  Json ranks = Json::array();
  for (std::size_t r = 0; r < explained.ranks.size(); ++r) {
    ranks.push_back(rank_json(problem, static_cast<int>(r), explained.ranks[r]));
  }
  return {{"algorithm", algorithm_name(plan.algorithm)},
          {"pieces", plan.pieces},
          {"hosts", plan.hosts},
          {"num_chunks", plan.num_chunks},
          {"isa", isa_name(plan.isa)},
          {"numerics", plan.numerics},
          {"reason", plan.reason},
          {"picture", explained.picture},
          {"ranks", std::move(ranks)}};
}

std::string rank_table(const Problem& problem, const std::vector<RankPlan>& plans) {
  Table table({"rank", "rows", "columns", "received", "copied", "workspace", "product", "gather",
               "exposed", "expected"});
  for (int rank = 0; rank < std::min(problem.ranks, kMaxTableRanks); ++rank) {
    const RankPlan& plan = plans[static_cast<std::size_t>(rank)];
    const RankPart part = part_of(problem, rank);
    table.add({text(rank), text(part.rows), text(part.cols), bytes_text(plan.received_bytes),
               bytes_text(plan.copied_bytes), bytes_text(plan.workspace_bytes),
               seconds_text(plan.multiply_seconds), seconds_text(plan.gather_seconds),
               seconds_text(plan.exposed_seconds), seconds_text(plan.expected_seconds)});
  }
  const int left_out = problem.ranks - kMaxTableRanks;
  return table.str() + (left_out > 0 ? text("and ", left_out, " more, listed by --json\n") : "");
}

// Consecutive ranks, evenly on `num_hosts` hosts; the first get one more.
std::vector<int> spread_over(int num_hosts, int num_ranks) {
  std::vector<int> hosts;
  for (int host = 0; host < num_hosts; ++host) {
    hosts.insert(hosts.end(), static_cast<std::size_t>(even_share(num_ranks, num_hosts, host).size),
                 host);
  }
  return hosts;
}

void check_on_hosts(const World& world, const Problem& problem, int num_hosts) {
  if (!world.is_one_process()) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--on-hosts is ", num_hosts, " but ", world.started_by(),
                     " started ranks, whose hosts are known; leave it out, or start no ranks"));
  }
  if (num_hosts > problem.ranks) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--on-hosts is ", num_hosts, " but --ranks is ", problem.ranks,
                     "; give at most one host per rank"));
  }
}

Json forecast_json(const Problem& problem, const GatherForecast& gather) {
  return {{"algorithm", algorithm_name(gather.algorithm)},
          {"pieces", gather.pieces},
          {"num_ranks", problem.ranks},
          {"hosts", gather.hosts},
          {"num_chunks", gather.num_chunks},
          {"reason", gather.reason},
          {"link_bytes", gather.link_bytes},
          {"link_seconds", gather.link_seconds}};
}

std::string forecast_text(const Problem& problem, const GatherForecast& gather) {
  Table table;
  table.add({"algorithm", text(algorithm_name(gather.algorithm), ", ", gather.pieces,
                               gather.pieces == 1 ? " piece" : " pieces", " per shard, ",
                               gather.num_chunks, gather.num_chunks == 1 ? " chunk" : " chunks")});
  table.add({"because", gather.reason});
  table.add(
      {"ranks", text(problem.ranks, problem.ranks == 1 ? " rank on " : " ranks on ", gather.hosts,
                     gather.hosts == 1 ? " host" : " hosts", ", which are not there")});
  table.add(
      {"over a link", text(bytes_text(gather.link_bytes), " in ", seconds_text(gather.link_seconds),
                           ", expected of the host that takes most")});
  return table.str();
}

// For hosts that are not there: only the choice and the links, since their cores are unknown.
int forecast(const PlanArguments& arguments, const Problem& problem) {
  const GatherForecast gather = forecast_gather(shape_of(problem, 0), options_of(problem),
                                                spread_over(*arguments.on_hosts, problem.ranks));
  const std::string shown = arguments.json ? forecast_json(problem, gather).dump(2) + "\n"
                                           : forecast_text(problem, gather);
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

int run(const PlanArguments& arguments, World& world) {
  Problem problem;
  together(world, [&] {
    problem = arguments.problem.problem(world);
    if (arguments.on_hosts) check_on_hosts(world, problem, *arguments.on_hosts);
  });
  if (arguments.on_hosts) return forecast(arguments, problem);
  const Explained explained = explain_all_ranks(world, problem);
  if (!world.reports()) return kDone;
  std::string shown;
  if (arguments.json) {
    shown = plans_json(problem, explained).dump(2) + "\n";
  } else {
    shown = explained.plan.to_string() + "\n" + explained.picture +
            (explained.picture.empty() ? "" : "\n") + rank_table(problem, explained.ranks);
  }
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace

Command add_plan_command(CLI::App& app) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* sub = app.add_subcommand("plan", "say how a problem would be run, and why");
  arguments->problem.add_shape_to(*sub);
  arguments->problem.add_plan_to(*sub);
  add_value(
      *sub, "--on-hosts",
      [arguments](const std::string& word) {
        arguments->on_hosts = static_cast<int>(parse_int("--on-hosts", word, {1, kMaxRanks}));
      },
      "what would be chosen for the ranks on H hosts that are not there", "H");
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Shows the algorithm and the reason for it, the schedule as a picture for up to 8 ranks, "
      "and\n"
      "for each rank bytes, workspace and expected times.\n"
      "Examples:\n"
      "  cmm plan --ranks 4 --m 1024 --k 4096 --n 28672\n"
      "  cmm plan --ranks 8 --algorithm hierarchical --hosts 2 --json\n"
      "  cmm plan --ranks 64 --on-hosts 8 --link-gbit 100 --link-us 5 --m 4096");
  return {sub, [arguments](World& world) { return run(*arguments, world); }};
}

}  // namespace cmm::cli
