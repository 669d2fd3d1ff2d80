#pragma once

#include <cstdint>
#include <vector>

namespace weir::bench {

/// The middle value, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The 95 % interval of the median by the percentile bootstrap (Efron 1979), 4000 resamples with a fixed seed.
Interval bootstrap_interval(const std::vector<double>& values);

/// The median of the quotients of pairs, `above[i] / below[i]`, with its interval.
struct Ratio {
  double ratio = 0;
  Interval interval;
};
Ratio ratio_of_pairs(const std::vector<double>& above, const std::vector<double>& below);

}  // namespace weir::bench
