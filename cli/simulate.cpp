// cmm simulate: what a problem would take on ranks that are not there.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/simulate.hpp"
#include "cmm/tpu_simulate.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "files/text_file.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kHierarchical,
                                     Algorithm::kRecursiveDoubling, Algorithm::kBidirectional,
                                     Algorithm::kRing};
constexpr int kMaxPieces = 1024;
constexpr int kShownLinks = 4;
constexpr DecimalRange kRate = {.min = 0.001, .max = 1e9};
constexpr DecimalRange kMicroseconds = {.min = 0, .max = 1e6};

struct SimulateArguments {
  std::optional<int> num_ranks;  // default: 8, or as many as the slice has chips
  std::int64_t m = 512;
  std::int64_t k = 4096;
  std::int64_t n = 4096;
  DType dtype = DType::kBF16;
  SimulatedHosts hosts;
  std::optional<int> num_hosts;  // default: one rank on each; of a slice: 1
  std::string host_flag;         // the last that is of hosts only
  std::string chip;              // empty: hosts
  std::string chips_path;
  std::vector<int> slice;
  SimulateOptions options;
  bool names_algorithm = false;
  std::string trace_path;
  std::string html_path;
  bool compare = false;
  bool json = false;
};

// What the flags describe.
struct Case {
  ProblemShape shape;
  int num_ranks = 0;
  SimulatedMachine machine;
  std::string machine_text;  // "8 ranks, 2 hosts"
};

// One algorithm, or why it cannot be simulated.
struct Row {
  Algorithm algorithm = Algorithm::kAuto;
  std::optional<RankSimulation> result;
  std::string refused;
};

void reject(const std::string& message) { throw Error(ErrorCode::kInvalidArgument, message); }

SimulatedSlice slice_of(const SimulateArguments& arguments, int num_ranks) {
  if (!arguments.host_flag.empty())
    reject(arguments.host_flag + " is of hosts; leave it out, or leave out --chip");
  SimulatedSlice slice;
  slice.chip = chip_named(arguments.chip, arguments.chips_path);
  slice.chips = arguments.slice.empty() ? tpu::usual_slice(slice.chip, num_ranks) : arguments.slice;
  slice.num_hosts = arguments.num_hosts.value_or(1);
  return slice;
}

int num_ranks_of(const SimulateArguments& arguments) {
  std::int64_t num_chips = 1;
  for (const int size : arguments.slice) num_chips = saturating_product(num_chips, size);
  if (arguments.slice.empty()) return arguments.num_ranks.value_or(8);
  if (num_chips > kMaxRanks)
    reject(text("--slice ", grid_text(arguments.slice), " has ", num_chips, " chips; give at most ",
                kMaxRanks));
  if (arguments.num_ranks && *arguments.num_ranks != num_chips)
    reject(text("--ranks is ", *arguments.num_ranks, " but --slice ", grid_text(arguments.slice),
                " has ", num_chips, num_chips == 1 ? " chip" : " chips", "; leave --ranks out"));
  return static_cast<int>(num_chips);
}

Case case_of(const SimulateArguments& arguments) {
  if (arguments.compare && arguments.names_algorithm)
    reject("--compare shows all algorithms; leave --algorithm out");
  if (arguments.chip.empty() && !(arguments.slice.empty() && arguments.chips_path.empty()))
    reject(
        text(arguments.slice.empty() ? "--chips" : "--slice", " needs --chip, as in --chip v6e"));
  const int P = num_ranks_of(arguments);
  if (arguments.num_hosts.value_or(1) > P)
    reject(text("--hosts is ", *arguments.num_hosts, " but --ranks is ", P,
                "; give at most one host per rank"));
  Case it;
  it.num_ranks = P;
  it.shape = {.m = arguments.m,
              .k = arguments.k,
              .n_local = {even_share(arguments.n, P, 0).size},
              .dtype = arguments.dtype};
  if (!arguments.chip.empty()) {
    const SimulatedSlice slice = slice_of(arguments, P);
    it.machine_text = text(P, " x ", slice.chip.name, " (", grid_text(slice.chips), ")");
    it.machine = slice;
  } else {
    SimulatedHosts hosts = arguments.hosts;
    hosts.num_hosts = arguments.num_hosts.value_or(P);
    it.machine_text = text(P, P == 1 ? " rank, " : " ranks, ", hosts.num_hosts,
                           hosts.num_hosts == 1 ? " host" : " hosts");
    it.machine = hosts;
  }
  return it;
}

RankSimulation simulated(const SimulateArguments& arguments, const Case& it, Algorithm algorithm) {
  SimulateOptions options = arguments.options;
  options.algorithm = algorithm;
  options.timeline = !arguments.trace_path.empty() || !arguments.html_path.empty();
  return simulate(it.shape, it.num_ranks, it.machine, options);
}

// All algorithms, the fastest first, then those that are refused.
std::vector<Row> all_rows(const SimulateArguments& arguments, const Case& it) {
  std::vector<Row> rows;
  Progress progress(true);
  for (const Algorithm algorithm : kAlgorithms) {
    progress.show(text("simulating ", algorithm_name(algorithm)),
                  static_cast<double>(rows.size()) / std::size(kAlgorithms));
    Row row{algorithm, {}, {}};
    try {
      row.result = simulated(arguments, it, algorithm);
    } catch (const Error& error) {
      row.refused = error.what();
    }
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    if (!a.result || !b.result) return a.result.has_value() && !b.result.has_value();
    return a.result->seconds < b.result->seconds;
  });
  if (!rows[0].result) reject(rows[0].refused);
  return rows;
}

Json json_of(const RankSimulation& it) {
  Json links = Json::array();
  for (const SimulatedLink& link : it.links) {
    links.push_back({{"name", link.name},
                     {"num_alike", link.num_alike},
                     {"bytes", link.bytes},
                     {"busy", link.busy}});
  }
  return {{"algorithm", algorithm_name(it.algorithm)},
          {"pieces", it.pieces},
          {"num_chunks", it.num_chunks},
          {"reason", it.reason},
          {"seconds", it.seconds},
          {"bound_seconds", it.bound.seconds},
          {"bound_terms",
           {{"multiply_seconds", it.bound.multiply_seconds},
            {"transfer_seconds", it.bound.transfer_seconds},
            {"first_chunk_seconds", it.bound.first_chunk_seconds},
            {"last_chunk_seconds", it.bound.last_chunk_seconds}}},
          {"share_of_bound", it.share_of_bound},
          {"gather_seconds", it.gather_seconds},
          {"multiply_seconds", it.multiply_seconds},
          {"exposed_seconds", it.exposed_seconds},
          {"idle_transfer_seconds", it.idle_transfer_seconds},
          {"idle_latency_seconds", it.idle_latency_seconds},
          {"idle_upstream_seconds", it.idle_upstream_seconds},
          {"idle_slot_seconds", it.idle_slot_seconds},
          {"last_rank", it.last_rank},
          {"num_walked", it.num_walked},
          {"links", std::move(links)}};
}

Json problem_json(const SimulateArguments& arguments, const Case& it) {
  Json json = {{"num_ranks", it.num_ranks}};
  if (const auto* slice = std::get_if<SimulatedSlice>(&it.machine)) {
    json["chip"] = slice->chip.name;
    json["slice"] = grid_text(slice->chips);
  } else {
    json["hosts"] = std::get<SimulatedHosts>(it.machine).num_hosts;
  }
  json["m"] = arguments.m;
  json["k"] = arguments.k;
  json["n"] = arguments.n;
  json["dtype"] = dtype_name(arguments.dtype);
  return json;
}

std::string problem_text(const SimulateArguments& arguments, const Case& it) {
  return text(dtype_name(arguments.dtype), " x [", arguments.m, ", ", arguments.k, "] times y [",
              arguments.k, ", ", arguments.n, "] on ", it.machine_text);
}

std::string link_text(const SimulatedLink& link) {
  return text(link.name, link.num_alike > 1 ? text(" and ", link.num_alike - 1, " alike") : "",
              ": ", bytes_text(link.bytes), ", busy ", percent_text(link.busy), " of the time");
}

std::string details(const RankSimulation& it) {
  Table table;
  table.add({"algorithm", text(algorithm_name(it.algorithm), ", ", it.pieces,
                               it.pieces == 1 ? " piece" : " pieces", " per shard, ", it.num_chunks,
                               it.num_chunks == 1 ? " chunk" : " chunks")});
  table.add({"because", it.reason});
  table.add({"time", text(seconds_text(it.seconds), ", ", percent_text(it.share_of_bound),
                          " of the bound")});
  table.add({"bound", text(seconds_text(it.bound.seconds), ": multiply ",
                           seconds_text(it.bound.multiply_seconds), " or transfer ",
                           seconds_text(it.bound.transfer_seconds), ", first chunk ",
                           seconds_text(it.bound.first_chunk_seconds), ", last chunk ",
                           seconds_text(it.bound.last_chunk_seconds))});
  table.add({"multiply", seconds_text(it.multiply_seconds)});
  table.add({"exposed", text(seconds_text(it.exposed_seconds), " of the gather's ",
                             seconds_text(it.gather_seconds), ": transfer ",
                             seconds_text(it.idle_transfer_seconds), ", latency ",
                             seconds_text(it.idle_latency_seconds), ", upstream ",
                             seconds_text(it.idle_upstream_seconds), ", slot ",
                             seconds_text(it.idle_slot_seconds))});
  for (std::size_t i = 0; i < std::min<std::size_t>(it.links.size(), kShownLinks); ++i) {
    table.add({i == 0 ? "links" : "", link_text(it.links[i])});
  }
  table.add({"walked", text(it.num_walked, it.num_walked == 1 ? " rank" : " ranks",
                            "; the last to end is rank ", it.last_rank)});
  return table.str();
}

std::string comparison(const std::vector<Row>& rows) {
  Table table({"algorithm", "pieces", "time", "of bound", "bound", "multiply", "gather", "exposed",
               "transfer", "latency", "upstream", "slot", "busiest link"});
  std::string refused;
  for (const Row& row : rows) {
    const std::string name(algorithm_name(row.algorithm));
    if (!row.result) {
      refused += name + ": " + row.refused + "\n";
      continue;
    }
    const RankSimulation& it = *row.result;
    table.add({name, text(it.pieces), seconds_text(it.seconds), percent_text(it.share_of_bound),
               seconds_text(it.bound.seconds), seconds_text(it.multiply_seconds),
               seconds_text(it.gather_seconds), seconds_text(it.exposed_seconds),
               seconds_text(it.idle_transfer_seconds), seconds_text(it.idle_latency_seconds),
               seconds_text(it.idle_upstream_seconds), seconds_text(it.idle_slot_seconds),
               it.links.empty() ? "" : percent_text(it.links[0].busy)});
  }
  return table.str() + refused;
}

Json comparison_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    list.push_back(
        row.result ? json_of(*row.result)
                   : Json{{"algorithm", algorithm_name(row.algorithm)}, {"refused", row.refused}});
  }
  return list;
}

int run(const SimulateArguments& arguments) {
  const Case it = case_of(arguments);
  Json json = problem_json(arguments, it);
  std::string shown = problem_text(arguments, it) + "\n\n";
  std::optional<RankSimulation> shown_in_files;
  if (arguments.compare) {
    std::vector<Row> rows = all_rows(arguments, it);
    json["algorithms"] = comparison_json(rows);
    shown += comparison(rows);
    shown_in_files = std::move(rows[0].result);
  } else {
    shown_in_files = simulated(arguments, it, arguments.options.algorithm);
    json.update(json_of(*shown_in_files));
    shown += details(*shown_in_files);
  }
  if (!arguments.trace_path.empty()) {
    files::write_text(arguments.trace_path, timeline_trace(shown_in_files->timeline));
  }
  if (!arguments.html_path.empty()) {
    files::write_text(arguments.html_path, timeline_html(shown_in_files->timeline));
  }
  std::fputs((arguments.json ? json.dump(2) + "\n" : shown).c_str(), stdout);
  return kDone;
}

void add_problem_to(CLI::App& app, SimulateArguments& arguments) {
  add_int(app, "--ranks", arguments.num_ranks, {1, kMaxRanks},
          "ranks, P (default: 8, or the chips of --slice)");
  add_int(app, "--m", arguments.m, {}, "rows of x over all ranks (default: 512)");
  add_int(app, "--k", arguments.k, {}, "columns of x, rows of y (default: 4096)");
  add_int(app, "--n", arguments.n, {}, "columns of y over all ranks (default: 4096)");
  add_name(app, "--dtype", arguments.dtype, parse_dtype,
           "element type of x and y: f32, bf16, f16 (default: bf16)", "TYPE");
  add_value(
      app, "--algorithm",
      [&arguments](const std::string& word) {
        arguments.options.algorithm = parse_name("--algorithm", word, parse_algorithm);
        arguments.names_algorithm = true;
      },
      "auto, direct, ring, bidirectional, recursive_doubling, hierarchical (default: auto)",
      "NAME");
  add_int(app, "--pieces", arguments.options.pieces, {1, kMaxPieces},
          "chunks per shard (default: decided)");
}

void add_machine_to(CLI::App& app, SimulateArguments& arguments) {
  SimulatedHosts& hosts = arguments.hosts;
  add_int(app, "--hosts", arguments.num_hosts, {1, kMaxRanks},
          "hosts the ranks are spread over (default: one for each rank; of a slice: 1)");
  const auto add_decimal = [&app, &arguments](const char* name, double& target, DecimalRange range,
                                              double unit, const char* help, const char* type) {
    add_value(
        app, name,
        [name, &target, range, unit, &arguments](const std::string& word) {
          target = parse_decimal(name, word, range) * unit;
          arguments.host_flag = name;
        },
        help, type);
  };
  add_decimal("--link-gbit", hosts.network.bytes_per_second, kRate, 1e9 / 8,
              "10^9 bits per second of a host's link, each way (default: 9.36)", "X");
  add_decimal("--link-us", hosts.network.latency_seconds, kMicroseconds, 1e-6,
              "latency of a message between hosts (default: 40)", "US");
  add_decimal("--gflops", hosts.rank_flops, kRate, 1e9,
              "10^9 floating-point operations per second of a rank (default: 400)", "X");
  add_decimal("--memory-gbytes", hosts.memory_bytes_per_second, kRate, 1e9,
              "10^9 bytes per second of a host's memory (default: 60)", "X");
  add_value(
      app, "--chip", [&arguments](const std::string& word) { arguments.chip = word; },
      "ranks are chips of a TPU slice, not on hosts: v4, v5e, v5p, v6e, 7x", "NAME");
  add_value(
      app, "--chips", [&arguments](const std::string& word) { arguments.chips_path = word; },
      "your own chips: a copy of what `cmm tpu chips --json` prints, edited", "FILE");
  add_value(
      app, "--slice",
      [&arguments](const std::string& word) { arguments.slice = parse_grid("--slice", word); },
      "chips along each axis (default: the usual slice)", "AxB");
}

}  // namespace

Command add_simulate_command(CLI::App& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* sub =
      app.add_subcommand("simulate", "what a problem takes on ranks that are not there");
  add_problem_to(*sub, *arguments);
  add_machine_to(*sub, *arguments);
  sub->add_flag("--compare", arguments->compare, "all algorithms side by side, fastest first")
      ->disable_flag_override();
  add_file(*sub, "--trace", arguments->trace_path,
           "write the timeline (of --compare: of the fastest) for ui.perfetto.dev");
  add_file(*sub, "--html", arguments->html_path, "write it as a page for a browser");
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Walks the schedule of every rank with a clock; docs/simulation.md says what the model "
      "knows.\n"
      "Examples:\n"
      "  cmm simulate --ranks 64 --hosts 8 --link-gbit 100 --link-us 5 --m 8192 --n 65536\n"
      "  cmm simulate --ranks 4096 --pieces 8 --compare\n"
      "  cmm simulate --chip v6e --slice 2x4 --m 4096 --n 16384 --compare\n"
      "  cmm simulate --ranks 8 --algorithm ring --pieces 4 --html ring.html");
  return {sub, [arguments](World&) { return run(*arguments); }};
}

}  // namespace cmm::cli
