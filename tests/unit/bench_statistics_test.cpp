#include <gtest/gtest.h>

#include <random>

#include "statistics.hpp"

namespace weir::bench {
namespace {

TEST(Statistics, median_is_the_middle_or_the_mean_of_the_two_in_the_middle) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 9, 2}), 3);
}

TEST(Statistics, interval_of_equal_values_is_that_value) {
  const auto [low, high] = bootstrap_interval({2, 2, 2, 2, 2});
  EXPECT_EQ(low, 2);
  EXPECT_EQ(high, 2);
}

TEST(Statistics, interval_holds_the_true_median_about_as_often_as_it_says) {
  std::mt19937_64 random{3};
  std::lognormal_distribution<double> values{0, 0.5};  // its median is 1
  int held = 0;
  constexpr int trials = 200;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> sample(15);
    for (double& value : sample) value = values(random);
    const auto [low, high] = bootstrap_interval(sample);
    held += low <= 1 && 1 <= high ? 1 : 0;
  }
  EXPECT_GE(held, trials * 90 / 100);
  EXPECT_LE(held, trials * 995 / 1000);
}

TEST(Statistics, ratio_is_taken_pair_by_pair) {
  // The machine is ten times slower in the second pair: the ratio of each pair is the same.
  const Ratio ratio = ratio_of_pairs({2, 20, 2}, {1, 10, 1});
  EXPECT_EQ(ratio.ratio, 2);
  EXPECT_EQ(ratio.interval.low, 2);
  EXPECT_EQ(ratio.interval.high, 2);
}

}  // namespace
}  // namespace weir::bench
