// Prints what the benchmark programs wrote as the tables of docs/performance.md.
// usage: bench_table DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace {

using nlohmann::json;

std::string number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}
std::string percent(double share) { return number(100 * share, 0) + " %"; }
std::string milliseconds(double seconds) {
  return number(1e3 * seconds, seconds < 1e-4 ? 4 : seconds < 1e-2 ? 3 : seconds < 1 ? 2 : 0);
}

// A table in which all cells of a column are as wide as its widest.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const {
    std::vector<std::size_t> widths(rows_[0].size(), 1);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        std::string cell = rows_[r][i];
        cell.resize(widths[i], ' ');
        std::cout << "| " << cell << ' ';
      }
      std::cout << "|\n";
      if (r > 0) continue;
      for (const std::size_t width : widths) std::cout << "|-" << std::string(width, '-') << '-';
      std::cout << "|\n";
    }
    std::cout << '\n';
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

class Results {
 public:
  explicit Results(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // null where the program has not been run.
  json get(const std::string& program) const {
    std::ifstream file(folder_ / (program + ".json"));
    return file ? json::parse(file) : json();
  }

 private:
  std::filesystem::path folder_;
};

void print_machine(const json& report) {
  const json& machine = report.at("machine");
  std::cout << "Measured " << machine.at("day").get<std::string>() << " on "
            << machine.at("processor").get<std::string>() << ", " << machine.at("num_cores")
            << " cores; load average at the end " << number(machine.at("load_average"), 1)
            << ".\n\n";
}

void print_peak(const json& report) {
  if (report.is_null()) return;
  std::cout << "### The machine\n\n";
  print_machine(report);
  Table peak({"instruction set", "type", "multiply-adds between registers, GFLOP/s a core",
              "fed from L1", "share"});
  for (const json& row : report.at("multiply")) {
    peak.add({row.at("isa"), row.at("dtype"), number(row.at("registers_gflops"), 0),
              number(row.at("l1_fed_gflops"), 0), percent(row.at("share_of_registers"))});
  }
  peak.print();

  std::map<int, std::map<int, double>> by_threads;
  std::map<int, bool> streams;
  for (const json& row : report.at("read")) {
    by_threads[row.at("num_threads")][row.at("num_streams")] = row.at("gigabytes_per_second");
    streams[row.at("num_streams")] = true;
  }
  std::vector<std::string> head = {"reading memory, GB/s"};
  for (const auto& [count, unused] : streams) {
    head.push_back(std::to_string(count) + (count == 1 ? " stream" : " streams"));
  }
  Table read(head);
  for (const auto& [num_threads, rates] : by_threads) {
    std::vector<std::string> row = {std::to_string(num_threads) +
                                    (num_threads == 1 ? " thread" : " threads")};
    for (const auto& [count, rate] : rates) row.push_back(number(rate, 1));
    read.add(row);
  }
  read.print();
}

// Our product on one core by instruction set, in the processor time of its thread.
void print_kernels(const json& report) {
  if (report.is_null()) return;
  std::cout << "### Our kernels on one core\n\n";
  print_machine(report);
  Table table({"instruction set", "type", "m", "k", "n", "best ms", "median ms", "GFLOP/s (best)",
               "of L1-fed", "of reading"});
  for (const json& row : report.at("products")) {
    table.add({row.at("isa"), row.at("dtype"), row.at("m").dump(), row.at("k").dump(),
               row.at("n").dump(), milliseconds(row.at("best_seconds")),
               milliseconds(row.at("median_seconds")), number(row.at("gflops"), 1),
               percent(row.at("share_of_l1_fed")), percent(row.at("share_of_read_bandwidth"))});
  }
  table.print();
}

void print_sweep(const json& report) {
  if (report.is_null()) return;
  std::cout << "### The local product\n\n";
  print_machine(report);
  for (const auto& [name, description] : report.at("engines").items()) {
    std::cout << "- " << name << ": " << description.get<std::string>() << "\n";
  }
  for (const json& reason : report.at("missing")) {
    std::cout << "- not measured: " << reason.get<std::string>() << "\n";
  }
  std::cout << "\nGFLOP/s, medians. In brackets behind a library: its time over ours, above 1 "
               "where ours is faster.\n\n";
  // One table for each type, shape and number of threads, in the order they were measured.
  std::vector<std::string> engines;
  std::vector<json> rows;
  const auto flush = [&] {
    if (rows.empty()) return;
    const json& first = rows[0];
    std::cout << "**" << first.at("dtype").get<std::string>() << ", y [" << first.at("k") << ", "
              << first.at("n") << "], " << first.at("num_threads")
              << (first.at("num_threads") == 1 ? " thread** (processor time)\n\n"
                                               : " threads**\n\n");
    std::vector<std::string> head = {"m", "own", "quartiles", "of L1-fed", "of reading"};
    for (std::size_t i = 1; i < engines.size(); ++i) head.push_back(engines[i]);
    Table table(head);
    for (std::size_t i = 0; i < rows.size(); i += engines.size()) {
      const json& own = rows[i];
      const double work =
          own.at("gflops").get<double>() * own.at("seconds").at("median").get<double>();
      std::vector<std::string> cells = {
          std::to_string(own.at("m").get<long>()), number(own.at("gflops"), 1),
          number(work / own.at("seconds").at("high_quartile").get<double>(), 1) + "-" +
              number(work / own.at("seconds").at("low_quartile").get<double>(), 1),
          percent(own.at("share_of_l1_fed")), percent(own.at("share_of_read"))};
      for (std::size_t j = 1; j < engines.size(); ++j) {
        const json& other = rows[i + j];
        cells.push_back(number(other.at("gflops"), 1) + " (" +
                        number(other.at("seconds_over_own").at("median"), 2) + ")" +
                        (other.at("is_right") ? "" : " **wrong result**"));
      }
      table.add(cells);
    }
    table.print();
    rows.clear();
    engines.clear();
  };
  const auto group = [](const json& row) {
    return std::tuple(row.at("dtype"), row.at("num_threads"), row.at("k"), row.at("n"));
  };
  for (const json& row : report.at("products")) {
    if (!rows.empty() && group(row) != group(rows[0])) flush();
    if (rows.empty() || row.at("m") == rows[0].at("m")) engines.push_back(row.at("engine"));
    rows.push_back(row);
  }
  flush();
}

// Time of the same problem by another program over the fused operation's.
std::string compared(const json& products, const json& fused) {
  for (const json& row : products) {
    bool same = true;
    for (const char* key : {"dtype", "num_ranks", "threads_per_rank", "m", "k", "n"}) {
      same = same && row[key] == fused[key];
    }
    if (!same) continue;
    const double other = row.at("seconds").at("total").at("median");
    const double seconds = fused.at("seconds").at("fused").at("median");
    return milliseconds(other) + " (" + number(other / seconds, 2) + ")";
  }
  return "-";
}

void print_fused(const Results& results) {
  const json report = results.get("bench_fused");
  if (report.is_null()) return;
  std::cout << "### The fused operation\n\n";
  print_machine(report);
  json mpi = json::array(), torch = json::array();
  std::string mpi_name = "MPI", torch_name = "torch";
  for (const int num_ranks : {1, 2, 4, 8}) {
    const json one = results.get("bench_mpi_" + std::to_string(num_ranks));
    if (one.is_null()) continue;
    mpi_name = one.at("library");
    for (const json& row : one.at("products")) mpi.push_back(row);
  }
  if (const json one = results.get("bench_torch"); !one.is_null()) {
    torch_name = one.at("library");
    torch = one.at("products");
  }
  std::cout << "Medians in ms. T / bound and the speed-ups are medians of the rounds' ratios. In "
               "brackets: time over the fused operation's.\n"
            << "- MPI: " << mpi_name << " MPI_Allgatherv, then our product\n"
            << "- torch: " << torch_name << ", all_gather_into_tensor, then mm\n\n";
  Table table({"type", "P", "threads a rank", "m", "k", "n", "fused", "quartiles", "bound",
               "T / bound", "speed-up over all_gather, product", "over barrier, product in place",
               "the same, one rank late", "of L1-fed", "of reading", "MPI", "torch"});
  for (const json& row : report.at("fused")) {
    const json& fused = row.at("seconds").at("fused");
    table.add(
        {row.at("dtype"), row.at("num_ranks").dump(), row.at("threads_per_rank").dump(),
         row.at("m").dump(), row.at("k").dump(), row.at("n").dump(),
         milliseconds(fused.at("median")),
         milliseconds(fused.at("low_quartile")) + "-" + milliseconds(fused.at("high_quartile")),
         milliseconds(row.at("bound_seconds")), number(row.at("ratio_to_bound"), 3),
         number(row.at("speedup_over_gather_then_product"), 3),
         number(row.at("speedup_over_barrier_then_product"), 3),
         row.contains("hidden_share") ? number(row.at("late_speedup_over_barrier_then_product"), 3)
                                      : "-",
         percent(row.at("share_of_l1_fed")), percent(row.at("share_of_read")), compared(mpi, row),
         compared(torch, row)});
  }
  table.print();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_table DIRECTORY   (of the benchmarks' JSON files)\n");
    return 2;
  }
  try {
    const Results results(argv[1]);
    print_peak(results.get("bench_peak"));
    print_kernels(results.get("bench_gemm"));
    print_sweep(results.get("bench_gemm_sweep"));
    print_fused(results);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_table: %s\n", error.what());
    return 1;
  }
  return 0;
}
