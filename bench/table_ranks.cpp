// The tables of programs that measure ranks.
#include <iostream>

#include "table.hpp"

namespace cmm::bench {
namespace {

using nlohmann::json;

// The products of reports whose names begin so, and the library that the first names.
struct Opponent {
  std::string library;
  std::vector<json> rows;
};
Opponent opponent(const Results& results, const std::string& begin) {
  Opponent found;
  for (const json& report : results.all(begin)) {
    if (found.library.empty()) found.library = report.at("library");
    for (const json& row : report.at("products")) found.rows.push_back(row);
  }
  return found;
}

double median_of(const json& row, const char* version) {
  return row.at("seconds").at(version).at("median");
}

// Time of the same problem by another program over the fused operation's.
std::string compared(const Opponent& other, const char* version, const json& fused) {
  for (const json& row : other.rows) {
    bool same = true;
    for (const char* key : {"dtype", "num_ranks", "threads_per_rank", "m", "k", "n"}) {
      same = same && row[key] == fused[key];
    }
    if (!same) continue;
    const double seconds = median_of(row, version);
    return milliseconds(seconds) + " (" + number(seconds / median_of(fused, "fused"), 2) + ")";
  }
  return "-";
}

// Of two versions of one row.
std::string compared(const json& row, const char* version) {
  return milliseconds(median_of(row, version)) + " (" +
         number(row.at("over_fused").at(version), 2) + ")";
}

std::string over_fused(const json& row, const char* version) {
  return number(row.at("over_fused").at(version), 3);
}

std::vector<std::string> problem(const json& row) {
  return {row.at("dtype"),    row.at("num_ranks").dump(), row.at("threads_per_rank").dump(),
          row.at("m").dump(), row.at("k").dump(),         row.at("n").dump()};
}

std::vector<std::string> joined(std::vector<std::string> head,
                                const std::vector<std::string>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

const std::vector<std::string> kProblem = {"type", "P", "threads a rank", "m", "k", "n"};

}  // namespace

void print_fused(const Results& results) {
  const json report = results.get("bench_fused");
  if (report.is_null()) return;
  std::cout << "### The fused operation, ranks as threads\n\n";
  print_machine(report);
  const Opponent torch = opponent(results, "bench_torch");
  std::cout
      << "Medians in ms. T / bound and the speed-ups are medians of the rounds' ratios. torch: "
      << torch.library
      << ", all_gather_into_tensor, then mm; in brackets its time over the fused "
         "operation's.\n\n";
  Table table(
      joined(kProblem, {"fused", "quartiles", "bound", "T / bound",
                        "speed-up over all_gather, product", "over barrier, product in place",
                        "the same, one rank late", "of L1-fed", "of reading", "torch"}));
  for (const json& row : report.at("fused")) {
    table.add(joined(
        problem(row),
        {milliseconds(median_of(row, "fused")), quartiles(row.at("seconds").at("fused")),
         milliseconds(row.at("bound_seconds")), number(row.at("ratio_to_bound"), 3),
         over_fused(row, "all_gather_then_product"), over_fused(row, "barrier_then_product"),
         row.at("num_ranks") == 1 ? "-"
                                  : number(row.at("late_barrier_then_product_over_late_fused"), 3),
         percent(row.at("share_of_l1_fed")), percent(row.at("share_of_read")),
         compared(torch, "total", row)}));
  }
  table.print();
}

void print_processes(const Results& results) {
  const Opponent torch = opponent(results, "bench_torch");
  Table table(joined(
      kProblem, {"product", "fastest gather", "bound", "fused", "quartiles", "T / bound",
                 "the same, x copied", "all_gather, product", "MPI_Allgatherv, product", "torch"}));
  const std::vector<json> reports = results.all("bench_mpi_");
  for (const json& report : reports) {
    for (const json& row : report.at("products")) {
      const double copied = row.at("over_fused").at("fused_with_copy");
      table.add(
          joined(problem(row),
                 {milliseconds(median_of(row, "product")), milliseconds(row.at("gather_seconds")),
                  milliseconds(row.at("bound_seconds")), milliseconds(median_of(row, "fused")),
                  quartiles(row.at("seconds").at("fused")), number(row.at("ratio_to_bound"), 3),
                  number(row.at("ratio_to_bound").get<double>() * copied, 3),
                  compared(row, "all_gather_then_product"),
                  compared(row, "all_gather_mpi_then_product"), compared(torch, "total", row)}));
    }
  }
  if (table.empty()) return;
  std::cout << "### The fused operation, ranks as processes of one host\n\n";
  print_machine(reports[0]);
  std::cout << "Started by mpirun of " << reports[0].at("library").get<std::string>()
            << ". Medians in ms; in brackets: time over the fused operation's.\n\n";
  table.print();
}

void print_hosts(const Results& results) {
  Table table(
      joined({"link", "hosts"},
             joined(kProblem, {"algorithm", "product", "our gather", "MPI_Allgatherv", "bound",
                               "fused", "quartiles", "T / bound", "hidden", "with a helper thread",
                               "our gather, product", "MPI_Allgatherv, product"})));
  const std::vector<json> reports = results.all("bench_hosts_");
  for (const json& report : reports) {
    for (const json& row : report.at("products")) {
      table.add(joined(
          {report.at("link"), row.at("num_hosts").dump()},
          joined(
              problem(row),
              {row.at("algorithm"), milliseconds(median_of(row, "product")),
               milliseconds(median_of(row, "all_gather")),
               milliseconds(median_of(row, "all_gather_mpi")),
               milliseconds(row.at("bound_seconds")), milliseconds(median_of(row, "fused")),
               quartiles(row.at("seconds").at("fused")), number(row.at("ratio_to_bound"), 3),
               number(row.at("hidden_share"), 2),
               row.at("seconds").contains("fused_with_helper") ? compared(row, "fused_with_helper")
                                                               : "-",
               compared(row, "all_gather_then_product"),
               compared(row, "all_gather_mpi_then_product")})));
    }
  }
  if (table.empty()) return;
  std::cout << "### The fused operation between hosts\n\n";
  print_machine(reports[0]);
  std::cout << "Network namespaces of this machine, links shaped by tc; "
            << reports[0].at("library").get<std::string>()
            << ". Medians in ms; in brackets: time over the fused operation's.\n\n";
  table.print();
}

void print_waiting(const Results& results) {
  Table table({"ranks", "P", "gather of 16 KB, us", "p10-p90", "x copied, us", "barrier, us",
               "processor of a rank that waits", "of an idle one", "MPI_Allgather, us", "p10-p90",
               "processor of a rank that waits in it"});
  const auto add = [&](const std::string& ranks, const json& row) {
    const auto microseconds = [](const json& seconds) {
      return number(1e6 * seconds.get<double>(), 2);
    };
    const auto span = [&](const json& latency) {
      return microseconds(latency.at("p10")) + "-" + microseconds(latency.at("p90"));
    };
    const bool mpi = row.contains("gather_mpi");
    table.add({ranks, row.at("num_ranks").dump(), microseconds(row.at("gather").at("median")),
               span(row.at("gather")), microseconds(row.at("gather_with_copy").at("median")),
               microseconds(row.at("barrier").at("median")), number(row.at("waiting_cpu_share"), 4),
               number(row.at("idle_cpu_share"), 4),
               mpi ? microseconds(row.at("gather_mpi").at("median")) : "-",
               mpi ? span(row.at("gather_mpi")) : "-",
               mpi ? number(row.at("waiting_cpu_share_mpi"), 4) : "-"});
  };
  const json report = results.get("bench_wait");
  if (!report.is_null()) {
    for (const json& row : report.at("waiting")) add(row.at("ranks"), row);
  }
  for (const json& of_host : results.all("bench_mpi_")) {
    if (of_host.contains("waiting")) add("processes, mpirun", of_host.at("waiting"));
  }
  for (const json& of_hosts : results.all("bench_hosts_")) {
    if (of_hosts.contains("waiting")) {
      add("hosts, " + of_hosts.at("link").get<std::string>(), of_hosts.at("waiting"));
    }
  }
  if (table.empty()) return;
  std::cout << "### Small gathers, waiting and idle ranks\n\n"
               "Medians of gathers back to back; processor seconds per second of one "
               "rank.\n\n";
  table.print();
}

}  // namespace cmm::bench
