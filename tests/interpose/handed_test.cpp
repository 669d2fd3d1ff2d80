#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "file_world.hpp"

/// Small pieces, which the ranks of a node leave to whoever comes last.
namespace weir::testing {
namespace {

class Handed : public FileWorld {
 protected:
  struct Piece {
    std::uint64_t at = 0, bytes = 0;
  };
  /// Writes every rank's piece in one access, and what is expected of the file so far.
  void write(MPI_File opened, const std::vector<Piece>& pieces, std::string& expected) {
    ++writes_;
    const auto value = [&](int of) { return static_cast<char>(1 + (17 * writes_ + of) % 251); };
    for (int of = 0; of < ranks(); ++of) {
      const auto [at, bytes] = pieces[static_cast<std::size_t>(of)];
      if (bytes == 0) continue;
      expected.resize(std::max<std::uint64_t>(expected.size(), at + bytes));
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), bytes, value(of));
    }
    const auto [at, bytes] = pieces[static_cast<std::size_t>(rank())];
    const std::vector<char> mine(bytes, value(rank()));
    MPI_Status status;
    int count = -1;
    EXPECT_EQ(MPI_File_write_at_all(opened, static_cast<MPI_Offset>(at), mine.data(), static_cast<int>(bytes), MPI_BYTE,
                                    &status),
              MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, static_cast<int>(bytes));
  }

 private:
  int writes_ = 0;
};

TEST_F(Handed, pieces_of_all_sizes_lie_where_they_belong) {
  constexpr std::uint64_t most = 128 << 10;  // of what is handed over
  const std::array<std::uint64_t, 7> sizes{0, 1, 4096, most - 1, most, most + 1, 3 * most};
  std::mt19937 random{20261118};  // the same on all ranks
  std::string expected;
  MPI_File opened = open("handed");
  for (int round = 0; round < 60; ++round) {
    std::vector<int> order(static_cast<std::size_t>(ranks()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Piece> pieces(order.size());
    std::uint64_t at = random() % 1000;
    for (const int of : order) {
      const std::uint64_t bytes = sizes[random() % (round % 3 == 0 ? 3 : sizes.size())];
      pieces[static_cast<std::size_t>(of)] = {at, bytes};
      at += bytes + (random() % 2) * (random() % 5000);  // some follow one another, some have a gap before
    }
    write(opened, pieces, expected);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_TRUE(contents("handed") == expected);
}

TEST_F(Handed, what_was_left_before_is_not_stored_again) {
  MPI_File opened = open("once");
  std::string expected;
  std::vector<Piece> pieces(static_cast<std::size_t>(ranks()));
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = {100 * i, 100};
  write(opened, pieces, expected);
  write(opened, std::vector<Piece>(pieces.size()), expected);  // the first sees that all have one piece
  write(opened, pieces, expected);
  EXPECT_EQ(MPI_File_set_size(opened, 0), MPI_SUCCESS);
  expected.clear();
  pieces.assign(pieces.size(), {});
  pieces.back() = {7, 5};  // the others have nothing
  write(opened, pieces, expected);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("once"), expected);
}

TEST_F(Handed, ranks_whose_view_has_holes_go_with_those_that_hand_over) {
  MPI_File opened = open("mixed");
  MPI_Datatype holes = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_CHAR, 0, 2, &holes);
  MPI_Type_commit(&holes);
  const bool last = rank() == ranks() - 1;
  const std::string mine(8, static_cast<char>('a' + rank()));
  std::string expected;
  for (int of = 0; of < ranks(); ++of)
    for (int i = 0; i < 8; ++i)
      expected += of == ranks() - 1 ? std::string{static_cast<char>('a' + of), i < 7 ? '\0' : '.'}
                                    : std::string(1, static_cast<char>('a' + of));
  expected.pop_back();  // no hole at the end
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(MPI_File_set_view(opened, 8 * rank(), MPI_CHAR, last && round == 1 ? holes : MPI_CHAR, "native", MPI_INFO_NULL),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_File_set_size(opened, 0), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_write_at_all(opened, 0, mine.data(), 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (const std::string found = contents("mixed"); round == 1) {
      EXPECT_EQ(found, expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Type_free(&holes);
}

}  // namespace
}  // namespace weir::testing
