#include "cells.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "mpi/random_declaration.hpp"
#include "mpi/world.hpp"
#include "repetition.hpp"
#include "view.hpp"

/// Views in which the same pieces come again and again, as those of many variables with one decomposition.
namespace weir::testing {
namespace {

using namespace interpose;

/// A list of single bytes at places.
struct Places {
  std::vector<int> lengths;
  std::vector<MPI_Aint> at;

  void add(MPI_Aint place, int length = 1) {
    lengths.push_back(length);
    at.push_back(place);
  }
  [[nodiscard]] MPI_Datatype type() const {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(static_cast<int>(at.size()), lengths.data(), at.data(), MPI_BYTE, &made);
    MPI_Type_commit(&made);
    return made;
  }
  [[nodiscard]] int bytes() const { return std::accumulate(lengths.begin(), lengths.end(), 0); }
};

/// Every rank has each `ranks`th column of a table, but for some that are the next rank's; rows follow one another.
struct Table {
  static constexpr int columns = 97, rows = 200;
  int rank, ranks;
  int nobodys = -1;  // column

  [[nodiscard]] bool has(int column) const {
    if (column == nobodys) return false;
    const int owner = column % 5 == 0 ? column / 5 + 1 : column;
    return owner % ranks == rank;
  }
  void add(Places& places, MPI_Aint from) const {
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        if (has(column)) places.add(from + row * columns + column);
  }
};

class CellsTest : public World {
 protected:
  [[nodiscard]] std::string path() const { return directory() + "/table"; }

  /// Writes through the view and reads back, `skip` bytes behind its beginning: the file must have what was written.
  void check(const Places& places, int skip = 0) {
    MPI_Datatype listed = places.type();
    MPI_File file = MPI_FILE_NULL;
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path().c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), 0);
    MPI_Datatype type = places.type();  // made of fewer, for a view
    for (const MPI_Offset moved : {MPI_Offset{0}, MPI_Offset{1000}}) {
      ASSERT_EQ(MPI_File_set_view(file, moved, MPI_BYTE, moved ? listed : type, "native", MPI_INFO_NULL), MPI_SUCCESS);
      std::vector<char> mine(static_cast<std::size_t>(places.bytes() - skip)), back(mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i)
        mine[i] = static_cast<char>(1 + (i * 31 + static_cast<std::size_t>(rank() * 7 + moved)) % 250);
      const int count = static_cast<int>(mine.size());
      ASSERT_EQ(MPI_File_write_at_all(file, skip, mine.data(), count, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(MPI_File_read_at_all(file, skip, back.data(), count, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(back, mine);
      MPI_Barrier(MPI_COMM_WORLD);
      std::ifstream in{path(), std::ios::binary};
      const std::string all{std::istreambuf_iterator<char>{in}, {}};
      std::size_t next = 0;
      int left = skip;
      for (std::size_t i = 0; i < places.at.size(); ++i)
        for (int k = 0; k < places.lengths[i]; ++k)
          if (left > 0)
            --left;
          else
            ASSERT_EQ(all.at(static_cast<std::size_t>(moved + places.at[i] + k)), mine[next++]) << "piece " << i;
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_Type_free(&type);
    MPI_Type_free(&listed);
  }
};

/// All that MPI tells about a type, and what it packs.
struct Known {
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  int size = 0, combiner = 0;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<char> packed;

  explicit Known(MPI_Datatype type) {
    MPI_Type_get_extent(type, &low, &extent);
    MPI_Type_get_true_extent(type, &true_low, &true_extent);
    MPI_Type_size(type, &size);
    int n = 0, a = 0, t = 0, at = 0;
    MPI_Type_get_envelope(type, &n, &a, &t, &combiner);
    integers.resize(static_cast<std::size_t>(n));
    addresses.resize(static_cast<std::size_t>(a));
    EXPECT_EQ(t, 1);
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    MPI_Type_get_contents(type, n, a, t, integers.data(), addresses.data(), &inner);
    EXPECT_EQ(inner, MPI_BYTE);
    std::vector<char> from(static_cast<std::size_t>(true_low + true_extent));
    std::iota(from.begin(), from.end(), char{});
    packed.resize(static_cast<std::size_t>(size));
    MPI_Pack(from.data(), 1, type, packed.data(), size, &at, MPI_COMM_SELF);
  }
  bool operator==(const Known&) const = default;
};

TEST_F(CellsTest, a_long_list_for_a_view_is_told_as_the_program_gave_it) {
  Places places;
  places.add(7, 17);
  Table{0, 3}.add(places, 1000);
  places.add(50000, 3);
  places.add(50003, 4);
  // And so are lists that come after it and are the same elsewhere, or nearly the same.
  std::vector<Places> all(7, places);
  for (MPI_Aint& at : all[1].at) at += 12345;
  all[2].at[3000] += 100'000;
  all[3].lengths.back() = 5;
  all[4].lengths[1] = 2;
  all[5].add(60000);
  all[6].lengths.pop_back();
  all[6].at.pop_back();
  std::vector<MPI_Datatype> listed;
  for (const Places& each : all) listed.push_back(each.type());
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path().c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (std::size_t i = 0; i < all.size(); ++i) {
    MPI_Datatype type = all[i].type();
    EXPECT_TRUE(Known{type} == Known{listed[i]}) << i;
    MPI_Type_free(&type);
    MPI_Type_free(&listed[i]);
  }
  MPI_File_close(&file);
}

TEST_F(CellsTest, the_shortest_period_is_found) {
  const auto value = [](std::size_t i) { return i < 1200 ? (i % 6) * (i % 6) : i; };
  const auto same = [&](std::size_t i, std::size_t j) { return value(i) == value(j); };
  const auto found = repetitions(1210, same, same);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].period, 6u);
  EXPECT_EQ(found[0].end(), 1200u);
  const auto never = [](std::size_t, std::size_t) { return false; };
  EXPECT_TRUE(repetitions(1000, never, never).empty());
}

TEST_F(CellsTest, a_repeated_list_is_kept_once_and_any_part_of_it_is_what_it_was) {
  Places places;
  places.add(0, 17);
  Table{0, 3}.add(places, 1000);
  places.add(50000, 3);
  MPI_Datatype type = places.type();
  const View view{5, 1, FlatType::of(type)};
  ASSERT_EQ(view.tile().groups().size(), 3u);
  EXPECT_EQ(view.tile().groups()[1].count, static_cast<std::uint64_t>(Table::rows));
  std::vector<std::uint64_t> bytes;
  for (std::size_t i = 0; i < places.at.size(); ++i)
    for (int k = 0; k < places.lengths[i]; ++k) bytes.push_back(static_cast<std::uint64_t>(5 + places.at[i] + k));
  Random random{4};
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t from = between(random, 0, bytes.size() - 1), count = between(random, 1, bytes.size() - from);
    std::vector<std::uint64_t> listed;
    for (const weir::Run& run : view.runs(from, count))
      for (std::uint64_t k = 0; k < run.count; ++k)
        for (std::uint64_t b = 0; b < run.length; ++b) listed.push_back(run.offset + k * run.stride + b);
    ASSERT_TRUE(std::equal(listed.begin(), listed.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from),
                           bytes.begin() + static_cast<std::ptrdiff_t>(from + count)));
  }
  MPI_Type_free(&type);
}

TEST_F(CellsTest, ranks_have_cells_in_common_unless_one_has_something_else_there) {
  std::vector<Sketch> sketches;
  for (int r = 0; r < 3; ++r) {
    Places places;
    if (r == 1) places.add(0, 10);
    Table{r, 3}.add(places, 100);
    MPI_Datatype type = places.type();
    const View view{0, 1, FlatType::of(type)};
    sketches.push_back(view.sketch(0, static_cast<std::uint64_t>(places.bytes())));
    MPI_Type_free(&type);
  }
  const auto common = common_cells(sketches);
  ASSERT_EQ(common.size(), 1u);
  EXPECT_EQ(common[0].cells.at, 100u);
  EXPECT_EQ(common[0].cells.distance, static_cast<std::uint64_t>(Table::columns));
  EXPECT_EQ(common[0].cells.count, static_cast<std::uint64_t>(Table::rows));
  EXPECT_GT(common[0].together, 1u);
  sketches[1].rest[1] = {300, 1};
  EXPECT_TRUE(common_cells(sketches).empty());
}

TEST_F(CellsTest, what_all_ranks_repeat_is_written_and_read) {
  Places places;
  Table{rank(), ranks()}.add(places, 300);
  check(places);
}

TEST_F(CellsTest, there_may_be_more_before_and_behind) {
  Places places;
  if (rank() == 0) places.add(0, 100);
  Table{rank(), ranks()}.add(places, 300);
  places.add(300 + Table::rows * Table::columns + 50 * rank(), 40);
  check(places, rank() == 0 ? 60 : 0);
}

TEST_F(CellsTest, one_rank_may_repeat_something_else) {
  Places places;
  Table{rank(), ranks()}.add(places, 300);
  if (rank() == ranks() - 1) {  // its last cell is not like the others
    places.lengths.pop_back();
    places.at.pop_back();
  }
  check(places);
}

TEST_F(CellsTest, one_rank_may_have_a_single_piece_among_the_cells_of_others) {
  constexpr int column = 3;  // that nobody else has
  Places places;
  if (rank() == 0)
    places.add(300 + 50 * Table::columns + column);
  else
    Table{rank(), ranks(), column}.add(places, 300);
  check(places);
}

TEST_F(CellsTest, one_rank_may_have_nothing) {
  Places places;
  if (rank() > 0 || ranks() == 1) Table{rank(), ranks()}.add(places, 300);
  check(places);
}

TEST_F(CellsTest, several_tables_may_follow_one_another) {
  Places places;
  const Table table{rank(), ranks()};
  table.add(places, 300);
  for (int row = 0; row < 500; ++row)
    for (int column = 0; column < 40; column += 2)
      if (table.has(column)) places.add(30000 + row * 40 + column, 2);
  check(places);
}

/// Tables of random shape and owners, one behind another, with other pieces before, between and behind them.
TEST_F(CellsTest, random_tables_are_written_and_read) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random{seed};
    Places places;
    MPI_Aint at = 0;
    const auto extra = [&] {
      const auto owner = static_cast<int>(between(random, 0, static_cast<std::uint64_t>(2 * ranks())));
      const auto length = static_cast<int>(between(random, 1, 50));
      if (owner == rank()) places.add(at, length);
      at += length + static_cast<MPI_Aint>(between(random, 0, 100));
    };
    for (auto tables = between(random, 1, 3); tables > 0; --tables) {
      extra();
      std::vector<int> owners(between(random, 20, 120)), lengths;
      for (int& owner : owners) owner = static_cast<int>(between(random, 0, static_cast<std::uint64_t>(ranks())));
      for (std::size_t i = 0; i < owners.size(); ++i) lengths.push_back(static_cast<int>(between(random, 1, 9)));
      const std::uint64_t rows = between(random, 50, 300), odd = between(random, 0, 2 * rows);
      for (std::uint64_t row = 0; row < rows; ++row)
        for (std::size_t i = 0; i < owners.size(); at += lengths[i++])
          if (owners[i] == rank() && (row != odd || i % 2 == 0)) places.add(at, lengths[i]);
    }
    extra();
    check(places);
  }
}

}  // namespace
}  // namespace weir::testing
