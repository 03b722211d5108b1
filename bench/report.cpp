#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "cmm/error.hpp"

namespace cmm::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Spread spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  return {values[values.size() / 2], values[last / 4], values[last - last / 4]};
}

nlohmann::json to_json(const Spread& spread) {
  return {{"median", spread.median},
          {"low_quartile", spread.low_quartile},
          {"high_quartile", spread.high_quartile}};
}

void fill_random(AlignedBuffer& buffer, DType dtype) {
  // The exponent of [1/2, 1) in each type; sign and mantissa are random.
  const std::uint32_t exponent = dtype == DType::kF32    ? 0x3f000000u
                                 : dtype == DType::kBF16 ? 0x3f003f00u
                                                         : 0x38003800u;
  const std::uint32_t mantissa = dtype == DType::kF32    ? 0x807fffffu
                                 : dtype == DType::kBF16 ? 0x807f807fu
                                                         : 0x83ff83ffu;
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < buffer.bytes() / 4; ++i) {
    buffer.as<std::uint32_t>()[i] = exponent | (static_cast<std::uint32_t>(random()) & mantissa);
  }
}

std::vector<Isa> chosen_isas(const std::vector<std::string>& names) {
  std::vector<Isa> chosen;
  for (const std::string& name : names) {
    const Isa isa = parse_isa(name);
    if (!isa_supported(isa)) {
      throw Error(ErrorCode::kUnsupported, "this processor or build has no " + name);
    }
    chosen.push_back(isa);
  }
  if (!chosen.empty()) return chosen;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (isa_supported(isa)) chosen.push_back(isa);
  }
  return chosen;
}

nlohmann::json machine() {
  std::string model = "unknown";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
      model = line.substr(line.find(": ") + 2);
      break;
    }
  }
  char day[16] = {};
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  std::strftime(day, sizeof(day), "%Y-%m-%d", &utc);
  double load = -1;  // where the system does not say
  getloadavg(&load, 1);
  return {{"processor", model},
          {"num_cores", std::thread::hardware_concurrency()},
          {"day", day},
          {"load_average", load}};
}

void write_json(const std::string& path, nlohmann::json report) {
  if (path.empty()) return;
  report["machine"] = machine();
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int run_program(const char* name, int (*run)(int argc, char** argv), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace cmm::bench
