#include "report.hpp"

#include <algorithm>
#include <fstream>
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
  return {{"processor", model}, {"num_cores", std::thread::hardware_concurrency()}};
}

void write_json(const std::string& path, nlohmann::json report) {
  if (path.empty()) return;
  report["machine"] = machine();
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace cmm::bench
