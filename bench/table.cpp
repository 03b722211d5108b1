// Prints what the benchmark programs wrote as the tables of docs/performance.md.
// usage: bench_table DIRECTORY
#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <tuple>

namespace cmm::bench {

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
std::string quartiles(const json& spread) {
  return milliseconds(spread.at("low_quartile")) + "-" + milliseconds(spread.at("high_quartile"));
}

void Table::print() const {
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

json Results::get(const std::string& program) const {
  std::ifstream file(folder_ / (program + ".json"));
  return file ? json::parse(file) : json();
}

std::vector<json> Results::all(const std::string& begin) const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().stem().string();
    if (name.rfind(begin, 0) == 0 && entry.path().extension() == ".json") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::vector<json> reports;
  for (const std::string& name : names) reports.push_back(get(name));
  return reports;
}

void print_machine(const json& report) {
  const json& machine = report.at("machine");
  std::cout << "Measured " << machine.at("day").get<std::string>() << " on "
            << machine.at("processor").get<std::string>() << ", " << machine.at("num_cores")
            << " cores; load average at the end " << number(machine.at("load_average"), 1)
            << ".\n\n";
}

namespace {

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
               "of L1-fed", "of reading", "view [k, n]", "view [n, k]"});
  for (const json& row : report.at("products")) {
    table.add({row.at("isa"), row.at("dtype"), row.at("m").dump(), row.at("k").dump(),
               row.at("n").dump(), milliseconds(row.at("best_seconds")),
               milliseconds(row.at("median_seconds")), number(row.at("gflops"), 1),
               percent(row.at("share_of_l1_fed")), percent(row.at("share_of_read_bandwidth")),
               number(row.at("view_over_packed"), 2),
               number(row.at("transposed_view_over_packed"), 2)});
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

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_table DIRECTORY   (of the benchmarks' JSON files)\n");
    return 2;
  }
  try {
    const cmm::bench::Results results(argv[1]);
    cmm::bench::print_peak(results.get("bench_peak"));
    cmm::bench::print_kernels(results.get("bench_gemm"));
    cmm::bench::print_sweep(results.get("bench_gemm_sweep"));
    cmm::bench::print_fused(results);
    cmm::bench::print_processes(results);
    cmm::bench::print_hosts(results);
    cmm::bench::print_waiting(results);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_table: %s\n", error.what());
    return 1;
  }
  return 0;
}
