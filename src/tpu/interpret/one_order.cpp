// One run that stands for all.
#include <algorithm>
#include <map>

#include "tpu/interpret/interpret.hpp"

namespace cmm::tpu {

bool has_one_order(const Program& program, const Chip& chip,
                   const std::vector<std::vector<Array>>& inputs, RunOptions options) {
  std::map<int, int> distrusted;  // how many waits, by semaphore
  while (true) {                  // there is one more each time
    const RunResult result = run(program, chip, inputs, options);
    if (result.fault) return false;
    if (result.may_differ.empty()) return true;
    bool more = false;
    for (const FirstWaits& waits : result.uncertain) {
      int& num_waits = distrusted[waits.semaphore];
      more |= waits.num_waits > num_waits;
      num_waits = std::max(num_waits, waits.num_waits);
    }
    if (!more) return false;
    options.distrusted.clear();
    for (const auto& [semaphore, num_waits] : distrusted) {
      options.distrusted.push_back({semaphore, num_waits});
    }
  }
}

}  // namespace cmm::tpu
