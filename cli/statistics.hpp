// Median and spread of repeated measurements.
#pragma once

#include <vector>

namespace cmm::cli {

struct Spread {
  double min = 0;
  double p10 = 0;
  double median = 0;
  double p90 = 0;
  double max = 0;
};

// Quantiles with linear interpolation; all 0 for no samples.
Spread spread_of(std::vector<double> samples);

}  // namespace cmm::cli
