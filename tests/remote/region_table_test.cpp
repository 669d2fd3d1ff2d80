#include "remote/region_table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "remote/protocol.hpp"

using namespace weir;

namespace {

constexpr std::uint64_t page = 4096;

RegionName region_named(std::uint64_t serial) { return {{1, 2}, serial, 0}; }

}  // namespace

TEST(RegionTable, limits_hold_before_anything_is_allocated) {
  RegionTable table{{10 * page, 6 * page, 3}};
  EXPECT_EQ(table.reserve(1, region_named(1), 0).status().code(), Code::invalid);
  for (const std::uint64_t bytes : {11 * page, ~std::uint64_t{0}, ~std::uint64_t{0} - 1})
    EXPECT_EQ(table.reserve(1, region_named(1), bytes).status().code(), Code::no_memory) << bytes;
  EXPECT_EQ(table.reserve(1, region_named(1), 7 * page).status().code(), Code::no_memory);
  EXPECT_TRUE(table.reserve(1, region_named(1), 6 * page).ok());
  EXPECT_EQ(table.reserve(1, region_named(2), 1).status().code(), Code::no_memory);
  EXPECT_TRUE(table.reserve(2, region_named(2), 4 * page - 5).ok());
  EXPECT_EQ(table.used(), 10 * page);
  EXPECT_EQ(table.reserve(3, region_named(3), 1).status().code(), Code::no_memory);
  EXPECT_EQ(table.leave(1).size(), 1U);
  for (std::uint64_t i = 10; i < 13; ++i) EXPECT_TRUE(table.reserve(3, region_named(i), 1).ok());
  EXPECT_EQ(table.reserve(3, region_named(13), 1).status().code(), Code::no_memory);
}

TEST(RegionTable, a_region_is_its_owners_until_it_leaves) {
  RegionTable table{{10 * page, 10 * page}};
  const auto region = table.reserve(1, region_named(1), page).value();
  EXPECT_EQ(table.reserve(2, region_named(1), page).status().code(), Code::exists);
  EXPECT_EQ(table.release(2, region).status().code(), Code::not_found);
  EXPECT_EQ(table.attach(2, region_named(1)).value(), region);
  EXPECT_FALSE(table.release(2, region).value());
  EXPECT_EQ(table.release(2, region).status().code(), Code::not_found);
  EXPECT_EQ(table.leave(1), std::vector{region});
  EXPECT_EQ(table.attach(2, region_named(1)).status().code(), Code::not_found);
  EXPECT_NE(table.reserve(1, region_named(1), page).value(), region);
}

TEST(RegionTable, memory_stays_while_somebody_is_attached) {
  RegionTable table{{10 * page, 10 * page}};
  const auto region = table.reserve(1, region_named(1), page).value();
  (void)table.attach(2, region_named(1)).value();
  (void)table.attach(2, region_named(1)).value();
  EXPECT_TRUE(table.leave(1).empty());
  EXPECT_EQ(table.used(), page);
  EXPECT_EQ(table.attach(3, region_named(1)).status().code(), Code::not_found);
  EXPECT_FALSE(table.release(2, region).value());
  EXPECT_TRUE(table.release(2, region).value());
  EXPECT_EQ(table.used(), 0U);
}

TEST(RegionTable, random_sessions_leave_nothing_behind) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random{seed};
    RegionTable table{{64 * page, 16 * page, 8}};
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t session = 1 + random() % 5;
      switch (random() % 4) {
        case 0: (void)table.reserve(session, region_named(random() % 12), 1 + random() % (4 * page)).ok(); break;
        case 1: (void)table.attach(session, region_named(random() % 12)).ok(); break;
        case 2: (void)table.release(session, 1 + random() % (static_cast<unsigned>(i) + 1)).ok(); break;
        default:
          if (random() % 8 == 0) (void)table.leave(session);
      }
      ASSERT_LE(table.used(), 64 * page) << "seed " << seed;
      ASSERT_LE(table.usage(session).regions, 8U) << "seed " << seed;
    }
    for (std::uint64_t session = 1; session <= 5; ++session) (void)table.leave(session);
    EXPECT_EQ(table.used(), 0U) << "seed " << seed;
    EXPECT_EQ(table.size(), 0U) << "seed " << seed;
  }
}

TEST(RegionTable, ranges_never_wrap_around) {
  EXPECT_TRUE(is_inside(10, 0, 10));
  EXPECT_TRUE(is_inside(10, 10, 0));
  EXPECT_FALSE(is_inside(10, 11, 0));
  EXPECT_FALSE(is_inside(10, 5, 6));
  EXPECT_FALSE(is_inside(10, ~std::uint64_t{0}, 2));
  EXPECT_FALSE(is_inside(10, 2, ~std::uint64_t{0}));
}
