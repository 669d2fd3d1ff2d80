#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace weir::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Interval bootstrap_interval(const std::vector<double>& values) {
  if (values.empty()) return {};
  constexpr int resamples = 4000;
  std::mt19937_64 random{1};
  std::vector<double> medians;
  std::vector<double> sample(values.size());
  for (int i = 0; i < resamples; ++i) {
    for (double& value : sample) value = values[random() % values.size()];
    medians.push_back(median(sample));
  }
  std::ranges::sort(medians);
  return {medians[resamples * 25 / 1000], medians[resamples * 975 / 1000]};
}

Ratio ratio_of_pairs(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i) ratios.push_back(above[i] / below[i]);
  return {median(ratios), bootstrap_interval(ratios)};
}

}  // namespace weir::bench
