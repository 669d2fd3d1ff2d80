#include "machine/figure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weir {
namespace {

double parsed(std::string_view text, Unit unit) {
  std::string why;
  const auto figure = parse_figure(text, unit, why);
  EXPECT_TRUE(figure) << text << ": " << why;
  return figure ? figure->value : -1;
}

TEST(Figure, is_read_with_its_unit) {
  EXPECT_EQ(parsed("2 GB/s", Unit::bytes_per_second), 2e9);
  EXPECT_EQ(parsed("2GBps", Unit::bytes_per_second), 2e9);
  EXPECT_EQ(parsed("731 MiB/s", Unit::bytes_per_second), 731.0 * 1048576);
  EXPECT_EQ(parsed("100 ns", Unit::seconds), 1e-7);
  EXPECT_EQ(parsed("1.5us", Unit::seconds), 1.5e-6);
  EXPECT_EQ(parsed("30 ms", Unit::seconds), 0.03);
  EXPECT_EQ(parsed("16 GB", Unit::bytes), 16e9);
  EXPECT_EQ(parsed("4 KiB", Unit::bytes), 4096);
  EXPECT_EQ(parsed("unknown", Unit::bytes), 0);
}

TEST(Figure, is_written_in_the_largest_unit_that_keeps_it) {
  EXPECT_EQ(format_figure(2e9, Unit::bytes_per_second), "2 GB/s");
  EXPECT_EQ(format_figure(1e-7, Unit::seconds), "100 ns");
  EXPECT_EQ(format_figure(1.5e-6, Unit::seconds), "1.5 us");
  EXPECT_EQ(format_figure(0.03, Unit::seconds), "30 ms");
  EXPECT_EQ(format_figure(1.5e12, Unit::bytes), "1.5 TB");
  EXPECT_EQ(format_figure(0, Unit::bytes), "unknown");
}

TEST(Figure, says_where_it_comes_from) {
  EXPECT_EQ(format_figure(Bandwidth{2e9, Origin::document, "TAPIOCA"}), "2 GB/s (document: TAPIOCA)");
  EXPECT_EQ(format_figure(Bandwidth{2e9, Origin::measured, ""}), "2 GB/s (measured)");
  EXPECT_EQ(format_figure(Bandwidth{}), "unknown");
  EXPECT_EQ(format_figure(Bandwidth{0, Origin::system, "no permission"}), "unknown (system: no permission)");
  std::string why;
  const auto figure = parse_figure("2 GB/s (document: a (small) book: part 2)", Unit::bytes_per_second, why);
  ASSERT_TRUE(figure) << why;
  EXPECT_EQ(figure->origin, Origin::document);
  EXPECT_EQ(figure->note, "a (small) book: part 2");
  EXPECT_FALSE(parse_figure("2 GB/s", Unit::bytes_per_second, why)->origin);
}

TEST(Figure, malformed_ones_are_refused_with_a_reason) {
  for (const auto& [text, unit, reason] : std::vector<std::tuple<const char*, Unit, const char*>>{
           {"", Unit::bytes, "does not begin with a number"},
           {"fast", Unit::bytes_per_second, "does not begin with a number"},
           {"-1 GB", Unit::bytes, "is not a number from 0 on"},
           {"nan GB", Unit::bytes, "is not a number from 0 on"},
           {"inf s", Unit::seconds, "is not a number from 0 on"},
           {"16", Unit::bytes, "has no unit"},
           {"16 GX", Unit::bytes, "has an unknown unit"},
           {"16 GB/s", Unit::bytes, "has an unknown unit"},
           {"2 GB", Unit::bytes_per_second, "is not a number of bytes per second"},
           {"2 hours", Unit::seconds, "has an unknown unit"},
           {"2 GB (measured", Unit::bytes, "no closing one"},
           {"2 GB (guessed)", Unit::bytes, "is no origin"}}) {
    std::string why;
    EXPECT_FALSE(parse_figure(text, unit, why)) << text;
    EXPECT_NE(why.find(reason), std::string::npos) << why;
  }
}

TEST(Figure, any_number_survives_a_round_trip) {
  std::mt19937_64 random{5};
  for (int k = 0; k < 20000; ++k) {
    const double value = std::ldexp(static_cast<double>(random() % (1u << (1 + random() % 30)) + 1),
                                    static_cast<int>(random() % 80) - 40);
    for (const Unit unit : {Unit::bytes, Unit::seconds, Unit::bytes_per_second})
      EXPECT_EQ(parsed(format_figure(value, unit), unit), value) << format_figure(value, unit);
  }
}

}  // namespace
}  // namespace weir
