// cmm bench: the operation over types, rows and the layers of a real model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/error.hpp"
#include "cmm/machine.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "measure.hpp"
#include "memory.hpp"
#include "problem_options.hpp"
#include "progress.hpp"
#include "run_report.hpp"
#include "table.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchArguments {
  ProblemOptions execution;
  std::optional<DType> dtype;
  std::optional<int> repeats;
  bool quick = false;
  bool json = false;
};

struct Layer {
  const char* name;
  std::int64_t k;
  std::int64_t n;
};
// Llama 3 8B; n over all ranks.
constexpr Layer kLayers[] = {{"qkv", 4096, 6144},
                             {"attention out", 4096, 4096},
                             {"gate and up", 4096, 28672},
                             {"down", 14336, 4096}};

struct Sweep {
  std::vector<DType> dtypes;
  std::vector<std::int64_t> m;
  std::vector<Layer> layers;
};

Sweep sweep_of(const BenchArguments& arguments) {
  Sweep sweep;
  sweep.dtypes = {DType::kF32, DType::kBF16, DType::kF16};
  if (arguments.dtype) sweep.dtypes = {*arguments.dtype};
  for (std::int64_t m = 1; m <= 4096; m *= 2) sweep.m.push_back(m);
  sweep.layers.assign(std::begin(kLayers), std::end(kLayers));
  if (arguments.quick) {
    sweep.m = {1, 16, 512};
    sweep.layers = {kLayers[1]};
  }
  return sweep;
}

// Where reading the weights is the limit, calls take turns with copies of them that together are
// too large for any cache, as the layers of a model do.
int num_copies(const Problem& p) {
  constexpr std::int64_t kDecodeLike = 16;  // rows
  constexpr std::int64_t kBeyondCaches = std::int64_t{256} << 20;
  if (p.m > kDecodeLike) return 1;
  const std::int64_t bytes = p.k * p.n * static_cast<std::int64_t>(dtype_bytes(p.dtype));
  return static_cast<int>(std::max<std::int64_t>(1, (kBeyondCaches + bytes - 1) / bytes));
}

struct Row {
  Layer layer;
  int copies = 1;
  RunReport report;
};

class Bench {
 public:
  Bench(const BenchArguments& arguments, World& world) : arguments_(arguments), world_(world) {}

  void run() {
    const Sweep sweep = sweep_of(arguments_);
    const double total = static_cast<double>(sweep.dtypes.size() * sweep.m.size()) *
                         static_cast<double>(sweep.layers.size());
    Progress progress(world_.reports());
    for (DType dtype : sweep.dtypes) {
      for (const Layer& layer : sweep.layers) {
        for (std::int64_t m : sweep.m) {
          progress.show(text(dtype_name(dtype), " ", layer.name, " m=", m),
                        static_cast<double>(rows_.size()) / total);
          rows_.push_back(measure_row(layer, m, dtype));
        }
      }
    }
  }

  Json json() const;
  std::string str() const;

 private:
  Row measure_row(const Layer& layer, std::int64_t m, DType dtype) {
    Row row;
    row.layer = layer;
    Problem& problem = row.report.problem;
    MeasureOptions options;
    options.repeats = arguments_.repeats;
    std::optional<ProblemData> data;
    together(world_, [&] {
      problem = arguments_.execution.problem_of(world_, m, layer.k, layer.n, dtype);
      options.num_copies = row.copies = num_copies(problem);
      const std::int64_t needed =
          saturating_sum(problem_bytes(problem), measure_bytes(problem, options));
      check_memory(
          saturating_sum(world_.bytes_on_machine(needed, problem.ranks), kMeasureMachineBytes),
          text(layer.name, " with m = ", problem.m));
    });
    together(world_, [&] { data.emplace(world_, problem); });
    row.report.transport = world_.transport();
    row.report.num_hosts = world_.num_hosts();
    row.report.measured = measure(world_, *data, options);
    row.report.output_hash = output_hash(world_, *data);
    if (world_.reports()) row.report.peak = peak_of(row.report.measured.plan.isa, problem);
    return row;
  }

  MachinePeak peak_of(Isa isa, const Problem& problem) {
    auto [at, is_new] = peaks_.try_emplace(problem.dtype);
    if (is_new) {
      at->second = machine_peak(isa, problem.dtype, cores_in_use(world_, problem));
    }
    return at->second;
  }

  const BenchArguments& arguments_;
  World& world_;
  std::vector<Row> rows_;
  std::map<DType, MachinePeak> peaks_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return date;
}

Json Bench::json() const {
  Json rows = Json::array();
  for (const Row& row : rows_) {
    Json one = {{"layer", row.layer.name}, {"weight_copies", row.copies}};
    one.update(row.report.json());
    rows.push_back(std::move(one));
  }
  return {{"processor", processor_name()},
          {"cores", world_.cores().in_all},
          {"date", today()},
          {"rows", std::move(rows)}};
}

std::string Bench::str() const {
  Table table({"type", "layer", "m", "k", "n", "time", "p10", "p90", "rate", "of peak", "weights",
               "of read", "/ bound", "speed-up"});
  for (const Row& row : rows_) {
    const RunReport& r = row.report;
    const bool decode = r.problem.m <= kDecodeRows;
    table.add({std::string(dtype_name(r.problem.dtype)), row.layer.name, text(r.problem.m),
               text(r.problem.k), text(r.problem.n), seconds_text(r.measured.fused.median),
               seconds_text(r.measured.fused.p10), seconds_text(r.measured.fused.p90),
               flops_text(r.gflops() * 1e9), percent_text(r.share_of_peak()),
               decode ? rate_text(r.weight_bytes_per_second()) : "",
               decode ? percent_text(r.share_of_read_bandwidth()) : "",
               fixed_text(r.ratio_to_bound(), 3), fixed_text(r.speedup_over_sequential(), 3)});
  }
  const RunReport& first = rows_.front().report;
  return text(processor_name(), ", ", world_.cores().in_all, " cores, ", today(), "; ",
              ranks_text({first.problem, first.transport, first.num_hosts}), "\n") +
         table.str();
}

int run(const BenchArguments& arguments, World& world) {
  Bench bench(arguments, world);
  bench.run();
  if (!world.reports()) return kDone;
  const std::string shown = arguments.json ? bench.json().dump(2) + "\n" : bench.str();
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace

Command add_bench_command(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* sub = app.add_subcommand("bench", "measure a model's layers for m = 1 ... 4096");
  add_value(
      *sub, "--dtype",
      [arguments](const std::string& word) {
        arguments->dtype = parse_name("--dtype", word, parse_dtype);
      },
      "f32, bf16 or f16 only (default: all three)", "TYPE");
  add_value(
      *sub, "--repeats",
      [arguments](const std::string& word) {
        arguments->repeats = static_cast<int>(parse_int("--repeats", word, {1, 1'000'000}));
      },
      "measured calls of each row (default: about two seconds' worth)", "N");
  sub->add_flag("--quick", arguments->quick, "one layer, m = 1, 16, 512")->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of a table")
      ->disable_flag_override();
  arguments->execution.add_execution_to(*sub);
  sub->footer(
      "The layers of Llama 3 8B, each row beside its bound and the better sequential version, all\n"
      "measured in turns. Up to 16 rows the weights come from memory, not from a cache.\n"
      "Examples:\n"
      "  cmm bench --quick\n"
      "  cmm bench --ranks 2 --dtype bf16 --json >bench.json");
  return {sub, [arguments](World& world) { return run(*arguments, world); }};
}

}  // namespace cmm::cli
