#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "mpi/world.hpp"

/// The calls with large counts, and datatypes that were made with them.
namespace weir::testing {
namespace {

class LargeCount : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, (directory() + "/file").c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &file_),
              MPI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_TRUE(is_taken_over());
    EXPECT_EQ(MPI_File_close(&file_), MPI_SUCCESS);
    World::TearDown();
  }
  [[nodiscard]] bool is_taken_over() const {
    MPI_Info info = MPI_INFO_NULL;
    char text[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_File_get_info(file_, &info);
    MPI_Info_get(info, "weir", MPI_MAX_INFO_VAL, text, &found);
    MPI_Info_free(&info);
    return std::string{text} == "collective";
  }
  static MPI_Count bytes_in(const MPI_Status& status) {
    MPI_Count bytes = -1;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return bytes;
  }

  MPI_File file_ = MPI_FILE_NULL;
};

TEST_F(LargeCount, every_call_moves_its_data) {
  constexpr int size = 3;
  using Data = std::array<int, size>;
  const MPI_Offset at = MPI_Offset{size} * rank();
  const auto wait = [](MPI_Request request, MPI_Status* status) { MPI_Wait(&request, status); };
  using Call = std::function<int(Data&, MPI_Status*)>;
  MPI_Request request = MPI_REQUEST_NULL;
  const std::vector<std::pair<Call, Call>> calls{
      {[&](Data& data, auto* status) { return MPI_File_write_at_all_c(file_, at, data.data(), size, MPI_INT, status); },
       [&](Data& data, auto* status) { return MPI_File_read_at_all_c(file_, at, data.data(), size, MPI_INT, status); }},
      {[&](Data& data, auto* status) { return MPI_File_write_all_c(file_, data.data(), size, MPI_INT, status); },
       [&](Data& data, auto* status) { return MPI_File_read_all_c(file_, data.data(), size, MPI_INT, status); }},
      {[&](Data& data, auto* status) { return MPI_File_write_at_c(file_, at, data.data(), size, MPI_INT, status); },
       [&](Data& data, auto* status) { return MPI_File_read_at_c(file_, at, data.data(), size, MPI_INT, status); }},
      {[&](Data& data, auto* status) { return MPI_File_write_c(file_, data.data(), size, MPI_INT, status); },
       [&](Data& data, auto* status) { return MPI_File_read_c(file_, data.data(), size, MPI_INT, status); }},
      {[&](Data& data, auto* status) {
         MPI_File_write_at_all_begin_c(file_, at, data.data(), size, MPI_INT);
         return MPI_File_write_at_all_end(file_, data.data(), status);
       },
       [&](Data& data, auto* status) {
         MPI_File_read_at_all_begin_c(file_, at, data.data(), size, MPI_INT);
         return MPI_File_read_at_all_end(file_, data.data(), status);
       }},
      {[&](Data& data, auto* status) {
         const int code = MPI_File_iwrite_at_all_c(file_, at, data.data(), size, MPI_INT, &request);
         return wait(request, status), code;
       },
       [&](Data& data, auto* status) {
         const int code = MPI_File_iread_at_all_c(file_, at, data.data(), size, MPI_INT, &request);
         return wait(request, status), code;
       }},
      {[&](Data& data, auto* status) {
         const int code = MPI_File_iwrite_all_c(file_, data.data(), size, MPI_INT, &request);
         return wait(request, status), code;
       },
       [&](Data& data, auto* status) {
         const int code = MPI_File_iread_at_c(file_, at, data.data(), size, MPI_INT, &request);
         return wait(request, status), code;
       }},
  };
  MPI_File_set_view(file_, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  int round = 0;
  for (const auto& [write, read] : calls) {
    SCOPED_TRACE(round);
    Data data{}, back{};
    std::iota(data.begin(), data.end(), 100 * ++round + 10 * rank());
    MPI_Status status;
    MPI_File_seek(file_, at, MPI_SEEK_SET);
    EXPECT_EQ(write(data, &status), MPI_SUCCESS);
    EXPECT_EQ(bytes_in(status), static_cast<MPI_Count>(sizeof data));
    MPI_File_seek(file_, at, MPI_SEEK_SET);
    EXPECT_EQ(read(back, &status), MPI_SUCCESS);
    EXPECT_EQ(bytes_in(status), static_cast<MPI_Count>(sizeof data));
    EXPECT_EQ(back, data);
  }
}

TEST_F(LargeCount, a_count_beyond_32_bits_is_not_cut) {
  const std::vector<char> data(16, 'x');
  MPI_File_write_at_all(file_, 0, data.data(), rank() == 0 ? 16 : 0, MPI_BYTE, MPI_STATUS_IGNORE);
  const MPI_Count many = (MPI_Count{1} << 32) + 4;
  void* const room = ::mmap(nullptr, static_cast<std::size_t>(many), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  MPI_Status status;
  EXPECT_EQ(MPI_File_read_at_all_c(file_, 0, room, many, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_EQ(bytes_in(status), 16);
  EXPECT_EQ(MPI_File_read_at_c(file_, 8, room, many, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_EQ(bytes_in(status), 8);
  EXPECT_EQ(static_cast<const char*>(room)[7], 'x');
  ::munmap(room, static_cast<std::size_t>(many));
  MPI_Offset position = 0;
  EXPECT_EQ(MPI_File_write_all_c(file_, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_position(file_, &position), MPI_SUCCESS);
  EXPECT_EQ(position, 0);
}

TEST_F(LargeCount, datatypes_are_those_that_small_counts_make) {
  using Make = std::function<void(MPI_Datatype*)>;
  using Counts = std::array<MPI_Count, 2>;
  using Integers = std::array<int, 2>;
  const Counts lengths{2, 1}, places{1, 5}, bytes{4, 20}, sizes{4, 6}, parts{2, 3}, starts{1, 2};
  const Integers lengths_i{2, 1}, places_i{1, 5}, sizes_i{4, 6}, parts_i{2, 3}, starts_i{1, 2};
  const std::array<MPI_Aint, 2> bytes_a{4, 20};
  const std::array<MPI_Datatype, 2> inner{MPI_INT, MPI_INT};
  const Integers kinds{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, grid{2, 2};
  const Integers arguments{MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  const std::vector<std::pair<Make, Make>> types{
      {[&](auto* type) { MPI_Type_contiguous_c(3, MPI_INT, type); },
       [&](auto* type) { MPI_Type_contiguous(3, MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_vector_c(3, 2, 4, MPI_INT, type); },
       [&](auto* type) { MPI_Type_vector(3, 2, 4, MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_create_hvector_c(3, 2, 12, MPI_INT, type); },
       [&](auto* type) { MPI_Type_create_hvector(3, 2, 12, MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_indexed_c(2, lengths.data(), places.data(), MPI_INT, type); },
       [&](auto* type) { MPI_Type_indexed(2, lengths_i.data(), places_i.data(), MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_create_hindexed_c(2, lengths.data(), bytes.data(), MPI_INT, type); },
       [&](auto* type) { MPI_Type_create_hindexed(2, lengths_i.data(), bytes_a.data(), MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_create_indexed_block_c(2, 2, places.data(), MPI_INT, type); },
       [&](auto* type) { MPI_Type_create_indexed_block(2, 2, places_i.data(), MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_create_hindexed_block_c(2, 2, bytes.data(), MPI_INT, type); },
       [&](auto* type) { MPI_Type_create_hindexed_block(2, 2, bytes_a.data(), MPI_INT, type); }},
      {[&](auto* type) { MPI_Type_create_struct_c(2, lengths.data(), bytes.data(), inner.data(), type); },
       [&](auto* type) { MPI_Type_create_struct(2, lengths_i.data(), bytes_a.data(), inner.data(), type); }},
      {[&](auto* type) {
         MPI_Type_create_subarray_c(2, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C, MPI_INT, type);
       },
       [&](auto* type) {
         MPI_Type_create_subarray(2, sizes_i.data(), parts_i.data(), starts_i.data(), MPI_ORDER_C, MPI_INT, type);
       }},
      {[&](auto* type) {
         MPI_Type_create_darray_c(4, 1, 2, sizes.data(), kinds.data(), arguments.data(), grid.data(), MPI_ORDER_FORTRAN,
                                  MPI_INT, type);
       },
       [&](auto* type) {
         MPI_Type_create_darray(4, 1, 2, sizes_i.data(), kinds.data(), arguments.data(), grid.data(), MPI_ORDER_FORTRAN,
                                MPI_INT, type);
       }},
      {[&](auto* type) { MPI_Type_create_resized_c(MPI_INT, 0, 12, type); },
       [&](auto* type) { MPI_Type_create_resized(MPI_INT, 0, 12, type); }},
  };
  constexpr int spread = 200, most = 40;  // ints in memory, and of data
  const MPI_Offset place = MPI_Offset{4} * spread * rank();
  int number = 0;
  for (const auto& [make_large, make_small] : types) {
    SCOPED_TRACE(number++);
    MPI_Datatype large = MPI_DATATYPE_NULL, small = MPI_DATATYPE_NULL;
    make_large(&large);
    make_small(&small);
    MPI_Type_commit(&large);
    MPI_Type_commit(&small);
    int bytes_of_type = 0;
    MPI_Type_size(small, &bytes_of_type);
    const int count = most / (bytes_of_type / 4);
    std::vector<int> data(spread), back(spread), expected(spread);
    std::iota(data.begin(), data.end(), 1000 * rank());
    // The view: what was written through one is read through the other.
    EXPECT_EQ(MPI_File_set_view(file_, place, MPI_INT, large, "native", MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_write_at_all_c(file_, 0, data.data(), most, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_set_view(file_, place, MPI_INT, small, "native", MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_read_at_all(file_, 0, back.data(), most, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < most; ++i) EXPECT_EQ(back[static_cast<std::size_t>(i)], data[static_cast<std::size_t>(i)]);
    // Memory: both find the same places.
    EXPECT_EQ(MPI_File_set_view(file_, place, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_write_at_all_c(file_, 0, data.data(), count, large, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::ranges::fill(back, -1);
    std::ranges::fill(expected, -1);
    EXPECT_EQ(MPI_File_read_at_all_c(file_, 0, back.data(), count, large, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_read_at_all(file_, 0, expected.data(), count, small, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(back, expected);
    MPI_Type_free(&large);
    MPI_Type_free(&small);
  }
}

TEST_F(LargeCount, views_may_have_holes_beyond_32_bits) {
  const MPI_Count hole = MPI_Count{3} << 31;
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_vector_c(2, 1, hole, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  EXPECT_EQ(MPI_File_set_view(file_, rank(), MPI_BYTE, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const std::array<char, 2> data{static_cast<char>('a' + rank()), static_cast<char>('A' + rank())};
  std::array<char, 2> back{};
  EXPECT_EQ(MPI_File_write_at_all_c(file_, 0, data.data(), 2, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_read_at_all_c(file_, 0, back.data(), 2, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, data);
  MPI_Offset size = 0, byte = 0;
  MPI_File_get_size(file_, &size);
  EXPECT_EQ(size, hole + ranks());
  MPI_File_get_byte_offset(file_, 1, &byte);
  EXPECT_EQ(byte, hole + rank());
  MPI_Type_free(&view);
}

}  // namespace
}  // namespace weir::testing
