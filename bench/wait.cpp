// What does a small gather cost, a rank that waits, and a mesh that nobody uses? Ranks are threads
// of this process, then processes of this host.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cmm/cmm.hpp"
#include "meetings.hpp"
#include "report.hpp"
#include "waiting.hpp"

namespace cmm::bench {
namespace {

nlohmann::json measure_threads(int num_ranks) {
  ThreadMeeting::Shared shared(num_ranks);
  nlohmann::json result;
  run_ranks({{"tp", num_ranks}}, [&](Mesh& mesh) {
    ThreadMeeting meeting(shared, mesh.rank());
    nlohmann::json of_rank = measure_waiting(mesh, meeting);
    if (mesh.rank() == 0) result = std::move(of_rank);
  });
  return result;
}

// One rank; rank 0 writes what it measured into the pipe.
int run_process(int rank, int num_ranks, const std::string& socket, int pipe_end) {
  try {
    const Mesh mesh =
        Mesh::processes({.socket = socket, .rank = rank, .num_ranks = num_ranks, .token = socket},
                        {{"tp", num_ranks}});
    AxisMeeting meeting(mesh.axis("tp"));
    const std::string text = measure_waiting(mesh, meeting).dump();
    return rank != 0 || write(pipe_end, text.data(), text.size()) > 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_wait: %s\n", error.what());
    return 1;
  }
}

nlohmann::json measure_processes(int num_ranks) {
  const std::string socket = "@cmm-bench-" + std::to_string(getpid());
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::vector<pid_t> children;
  for (int rank = 0; rank < num_ranks; ++rank) {
    children.push_back(fork());
    if (children.back() == 0) _exit(run_process(rank, num_ranks, socket, ends[1]));
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t size; (size = read(ends[0], part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    failed = waitpid(child, &status, 0) != child || status != 0 || failed;
  }
  if (failed) throw std::runtime_error("a rank failed");
  return nlohmann::json::parse(text);
}

void print(const nlohmann::json& row) {
  const auto latency = [&](const char* name) {
    const nlohmann::json& of = row.at(name);
    std::printf("  %s %.2f us (%.2f-%.2f)", name, 1e6 * of.at("median").get<double>(),
                1e6 * of.at("p10").get<double>(), 1e6 * of.at("p90").get<double>());
  };
  std::printf("%-9s P %d", row.at("ranks").get<std::string>().c_str(),
              row.at("num_ranks").get<int>());
  latency("gather");
  latency("gather_with_copy");
  latency("barrier");
  latency("product");
  std::printf("  cpu while waiting %.4f, while idle %.4f\n",
              row.at("waiting_cpu_share").get<double>(), row.at("idle_cpu_share").get<double>());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::vector<int> ranks = {2, 4};
  std::string json;
  CLI::App app("Measures the gather of 16 KB, and what waiting and idle ranks cost");
  app.add_option("--ranks", ranks, "numbers of ranks")->check(CLI::PositiveNumber);
  bool quick = false;  // it always is
  app.add_flag("--quick", quick, "no difference: it takes seconds");
  app.add_option("--json", json, "file for the figures");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json rows = nlohmann::json::array();
  const auto add = [&](const char* kind, nlohmann::json row) {
    row["ranks"] = kind;
    print(row);
    rows.push_back(std::move(row));
  };
  // Before there are threads, which fork would not copy.
  for (const int num_ranks : ranks) add("processes", measure_processes(num_ranks));
  for (const int num_ranks : ranks) add("threads", measure_threads(num_ranks));
  write_json(json, {{"waiting", rows}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  return cmm::bench::run_program("bench_wait", cmm::bench::run, argc, argv);
}
