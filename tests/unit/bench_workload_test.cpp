#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "buffers.hpp"
#include "unit/bench_coverage.hpp"
#include "workload.hpp"

namespace weir::bench {
namespace {

struct Case {
  std::string name;
  Parameters parameters;
};

const std::vector<Case> cases{
    {"hacc", {{"layout", "aos"}, {"particles", "13"}}},
    {"hacc", {{"layout", "soa"}, {"particles", "13"}}},
    {"array1d", {{"sizes", "equal"}, {"bytes", "101"}}},
    {"array1d", {{"sizes", "random"}, {"bytes", "1000"}}},
    {"array1d", {{"sizes", "normal"}, {"bytes", "1000"}}},
    {"s3d", {{"block", "2x3x5"}}},
    {"tile", {{"tile", "5x7"}, {"element", "3"}}},
    {"interleaved", {{"chunk", "7"}, {"bytes", "70"}}},
    {"tile", {{"tile", "5x7"}, {"element", "3"}, {"overlap", "2"}}},
};

TEST(Workload, covers_every_byte_of_the_file_and_none_beyond) {
  for (const Case& test : cases) {
    for (const int ranks : {1, 2, 4, 7, 16}) {
      const Workload workload = make_workload(test.name, test.parameters, ranks).value();
      SCOPED_TRACE(workload.name + " " + workload.variant + " on " + std::to_string(ranks));
      const auto covered = coverage(workload);
      EXPECT_EQ(covered.count(0), 0U);
      if (!workload.variant.starts_with("overlap")) {
        EXPECT_EQ(covered.at(1), workload.file_bytes);
      }
    }
  }
}

TEST(Workload, hacc_has_38_bytes_a_particle_in_nine_variables) {
  const Workload workload = make_workload("hacc", {{"particles", "10"}}, 4).value();
  EXPECT_EQ(workload.file_bytes, 4U * 10 * 38);
  EXPECT_EQ(workload.part(3).variables.size(), 9U);
}

TEST(Workload, hacc_aos_is_one_stretch_a_rank_and_soa_is_nine) {
  const auto stretches = [](const std::string& layout) {
    const Part part = make_workload("hacc", {{"layout", layout}, {"particles", "10"}}, 4).value().part(1);
    std::vector<weir::Run> all;
    for (const auto& decomposition : part.decompositions)
      all.push_back(std::get<std::vector<weir::Run>>(decomposition)[0]);
    return pieces(all).size();
  };
  EXPECT_EQ(stretches("aos"), 1U);
  EXPECT_EQ(stretches("soa"), 9U);
}

TEST(Workload, s3d_has_128_bytes_a_point_in_four_variables) {
  const Workload workload = make_workload("s3d", {{"block", "2x3x5"}}, 8).value();
  EXPECT_EQ(workload.file_bytes, 8U * 2 * 3 * 5 * 128);
  EXPECT_EQ(workload.part(0).variables.size(), 4U);
}

TEST(Workload, tiles_overlap_by_as_much_as_asked) {
  const Workload workload = make_workload("tile", {{"tile", "5x7"}, {"element", "1"}, {"overlap", "2"}}, 4).value();
  EXPECT_EQ(workload.file_bytes, 8U * 12);  // 5+5-2 rows, 7+7-2 columns
  EXPECT_EQ(coverage(workload).at(4), 2U * 2);
}

TEST(Workload, random_sizes_are_the_same_in_every_process) {
  const Parameters parameters{{"sizes", "random"}};
  const Workload once = make_workload("array1d", parameters, 7).value();
  const Workload again = make_workload("array1d", parameters, 7).value();
  EXPECT_EQ(once.file_bytes, again.file_bytes);
  const Workload other = make_workload("array1d", {{"sizes", "random"}, {"seed", "2"}}, 7).value();
  EXPECT_NE(once.file_bytes, other.file_bytes);
}

TEST(Workload, pieces_of_a_box_are_its_rows_and_whole_rows_are_joined) {
  const Box rows{.array = {4, 6}, .start = {1, 2}, .size = {2, 3}, .element = 2, .at = 100};
  EXPECT_EQ(pieces(rows), (std::vector<Piece>{{100 + 2 * (6 + 2), 6}, {100 + 2 * (12 + 2), 6}}));
  const Box whole{.array = {4, 6}, .start = {1, 0}, .size = {2, 6}, .element = 2, .at = 0};
  EXPECT_EQ(pieces(whole), (std::vector<Piece>{{12, 24}}));
  const Box none{.array = {4, 6}, .start = {1, 0}, .size = {2, 0}, .element = 2, .at = 0};
  EXPECT_TRUE(pieces(none).empty());
}

TEST(Workload, pieces_of_strided_runs_are_counted_out) {
  EXPECT_EQ(pieces(std::vector<weir::Run>{{.offset = 5, .length = 2, .stride = 10, .count = 3}}),
            (std::vector<Piece>{{5, 2}, {15, 2}, {25, 2}}));
}

TEST(Workload, a_grid_is_as_square_as_the_number_of_ranks_allows) {
  EXPECT_EQ(process_grid(16, 3), (std::vector<std::uint64_t>{4, 2, 2}));
  EXPECT_EQ(process_grid(7, 2), (std::vector<std::uint64_t>{7, 1}));
  EXPECT_EQ(grid_place(5, {4, 2, 2}), (std::vector<std::uint64_t>{1, 0, 1}));
}

TEST(Workload, wrong_parameters_are_refused_with_the_alternatives) {
  const auto message = [](const std::string& name, const Parameters& parameters) {
    return make_workload(name, parameters, 4).status().message();
  };
  EXPECT_NE(message("hac", {}).find("hacc"), std::string::npos);
  EXPECT_NE(message("hacc", {{"size", "3"}}).find("particles"), std::string::npos);
  EXPECT_NE(message("hacc", {{"layout", "x"}}).find("aos, soa"), std::string::npos);
  for (const char* bad : {"0", "-1", "ten", "5x", ""}) EXPECT_NE(message("hacc", {{"particles", bad}}), "") << bad;
  for (const char* bad : {"3x3", "3x3x3x3", "3x0x3", "3xx3", ""})
    EXPECT_NE(message("s3d", {{"block", bad}}), "") << bad;
  EXPECT_NE(message("tile", {{"tile", "4x9"}, {"overlap", "4"}}), "");
}

TEST(Workload, a_missing_map_is_named) {
  const Status status = make_workload("e3sm-f", {{"maps", "/nowhere"}}, 16).status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.message().find("/nowhere/e3sm_f_case_16p.nc"), std::string::npos);
}

TEST(Workload, e3sm_covers_its_file_on_any_number_of_ranks) {
  for (const auto& [name, variables] : {std::pair{"e3sm-f", 387U}, std::pair{"e3sm-g", 52U}}) {
    for (const int ranks : {3, 16, 17}) {
      auto workload = make_workload(name, {}, ranks);
      if (!workload) GTEST_SKIP() << workload.status().message();
      EXPECT_EQ(workload->part(0).variables.size(), variables);
      EXPECT_EQ(coverage(*workload).at(1), workload->file_bytes);
    }
  }
}

TEST(Buffers, notice_wrong_data_and_writes_beside_the_arrays) {
  Buffers buffers{make_workload("hacc", {{"particles", "10"}}, 2).value().part(1)};
  buffers.poison();
  EXPECT_NE(buffers.check(1), "");
  buffers.fill(1);
  EXPECT_EQ(buffers.check(1), "");
  EXPECT_NE(buffers.check(2), "");
  for (std::size_t v = 0; v < buffers.variables(); ++v) {
    std::byte* last = buffers.data(v) + buffers.bytes(v) - 1;
    for (std::byte* place : {last, last + 1, buffers.data(v) - 1}) {
      *place ^= std::byte{1};
      EXPECT_NE(buffers.check(1), "") << v;
      *place ^= std::byte{1};
    }
  }
  EXPECT_EQ(buffers.check(1), "");
}

}  // namespace
}  // namespace weir::bench
