#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace cmm::cli {

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  auto quantile = [&](double q) {
    const double at = q * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(at));
    const auto above = static_cast<std::size_t>(std::ceil(at));
    return std::lerp(samples[below], samples[above], at - std::floor(at));
  };
  return {.min = samples.front(),
          .p10 = quantile(0.1),
          .median = quantile(0.5),
          .p90 = quantile(0.9),
          .max = samples.back()};
}

}  // namespace cmm::cli
