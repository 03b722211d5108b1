// cmm check --network: how fast the links between the ranks' hosts are, how to tell the library,
// and what it then chooses.
#include "check_network.hpp"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "exit_code.hpp"
#include "network.hpp"
#include "run_report.hpp"
#include "table.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

// Rows and columns of bf16 x as models have them, from one token on.
constexpr std::int64_t kRowsShown[] = {1, 16, 256, 4096};
constexpr std::int64_t kColumnsShown = 4096;

struct Forecast {
  std::int64_t m = 0;
  GatherForecast gather;
};

std::vector<Forecast> forecasts(const NetworkMeasurement& measured) {
  std::vector<Forecast> all;
  for (const std::int64_t m : kRowsShown) {
    const ProblemShape shape = {.m = m, .k = kColumnsShown, .n_local = {0}, .dtype = DType::kBF16};
    all.push_back({m, forecast_gather(shape, {.network = measured.network()}, measured.hosts)});
  }
  return all;
}

// Rounded to what a measurement is worth.
std::string three_digits(double value) {
  std::ostringstream out;
  out << std::setprecision(3) << value;
  return std::move(out).str();
}

// The same for people to type: no exponent.
std::string decimal(double value) {
  return value >= 100 ? fixed_text(value, 0) : three_digits(value);
}

std::string flags_text(const Network& network) {
  return text("--link-gbit ", decimal(network.bytes_per_second * 8 / 1e9), " --link-us ",
              decimal(network.latency_seconds * 1e6));
}

std::string cpp_text(const Network& network) {
  return text("options.network = {.bytes_per_second = ", three_digits(network.bytes_per_second),
              ", .latency_seconds = ", three_digits(network.latency_seconds), "};");
}

int num_hosts(const NetworkMeasurement& measured) {
  return static_cast<int>(measured.host_names.size());
}

std::string ranks_line(const World& world, const NetworkMeasurement& measured) {
  const int hosts = num_hosts(measured);
  return text(measured.hosts.size(), " ranks on ", hosts, hosts == 1 ? " host" : " hosts",
              "; transport ", world.transport(), "\n\n");
}

Json shared_memory_json(const NetworkMeasurement& measured) {
  return {{"hand_over_seconds", spread_json(measured.latency_seconds)},
          {"copy_bytes_per_second", spread_json(measured.bytes_per_second)}};
}

void add_links_json(Json& j, const NetworkMeasurement& measured) {
  Json links = Json::array();
  for (const Link& link : measured.links) {
    links.push_back({{"from", link.from},
                     {"to", link.to},
                     {"latency_seconds", spread_json(link.latency_seconds)},
                     {"bytes_per_second", spread_json(link.bytes_per_second)}});
  }
  j["links"] = std::move(links);
  j["all_at_once"] = {{"latency_seconds", spread_json(measured.latency_seconds)},
                      {"bytes_per_second", spread_json(measured.bytes_per_second)}};
  const Network network = measured.network();
  j["network"] = {{"bytes_per_second", network.bytes_per_second},
                  {"latency_seconds", network.latency_seconds}};
  j["flags"] = flags_text(network);
  Json choices = Json::array();
  for (const Forecast& forecast : forecasts(measured)) {
    choices.push_back({{"m", forecast.m},
                       {"k", kColumnsShown},
                       {"dtype", dtype_name(DType::kBF16)},
                       {"algorithm", algorithm_name(forecast.gather.algorithm)},
                       {"link_bytes", forecast.gather.link_bytes},
                       {"link_seconds", forecast.gather.link_seconds},
                       {"reason", forecast.gather.reason}});
  }
  j["choices"] = std::move(choices);
}

Json json_of(const World& world, const NetworkMeasurement& measured) {
  Json j = {{"transport", world.transport()},
            {"ranks", measured.hosts.size()},
            {"hosts", num_hosts(measured)},
            {"host_of_rank", measured.hosts},
            {"host_names", measured.host_names}};
  if (measured.has_links()) {
    add_links_json(j, measured);
  } else {
    j["shared_memory"] = shared_memory_json(measured);
  }
  return j;
}

std::string shared_memory_text(const NetworkMeasurement& measured) {
  Table table({"shared memory", "median", "p10", "p90", ""});
  const Spread& latency = measured.latency_seconds;
  const Spread& rate = measured.bytes_per_second;
  table.add({"hand-over", seconds_text(latency.median), seconds_text(latency.p10),
             seconds_text(latency.p90), "one small gather of all ranks"});
  table.add({"copy", rate_text(rate.median), rate_text(rate.p10), rate_text(rate.p90),
             "all ranks together, out of their peers' memory"});
  return text("no link to measure: all ranks are on one host, where auto reads x in place\n\n",
              table.str());
}

std::string links_text(const NetworkMeasurement& measured) {
  Table table({"from", "to", "latency", "p10", "p90", "into it", "p10", "p90", ""});
  const auto add = [&table](std::string from, std::string to, const Spread& latency,
                            const Spread& rate, const char* remark) {
    table.add({std::move(from), std::move(to), seconds_text(latency.median),
               seconds_text(latency.p10), seconds_text(latency.p90), rate_text(rate.median),
               rate_text(rate.p10), rate_text(rate.p90), remark});
  };
  const auto host = [&measured](int number) {
    return text("host ", number, " ", measured.host_names[static_cast<std::size_t>(number)]);
  };
  for (const Link& link : measured.links) {
    add(host(link.from), host(link.to), link.latency_seconds, link.bytes_per_second, "");
  }
  add("all", "each", measured.latency_seconds, measured.bytes_per_second, "all ranks at once");

  const Network network = measured.network();
  Table choices({"", "m", "auto chooses", "over a link", "takes"});
  for (const Forecast& forecast : forecasts(measured)) {
    choices.add({text("bf16 x [m, ", kColumnsShown, "]"), text(forecast.m),
                 std::string(algorithm_name(forecast.gather.algorithm)),
                 bytes_text(forecast.gather.link_bytes),
                 seconds_text(forecast.gather.link_seconds)});
  }
  return text(table.str(), "\nflags  ", flags_text(network), "\nC++    ", cpp_text(network), "\n\n",
              choices.str());
}

}  // namespace

int check_network(bool json, World& world) {
  const NetworkMeasurement measured = measure_network(world);
  if (!world.reports()) return kDone;
  const std::string shown =
      json ? text(json_of(world, measured).dump(2), "\n")
           : text(ranks_line(world, measured),
                  measured.has_links() ? links_text(measured) : shared_memory_text(measured));
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace cmm::cli
