#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "file_world.hpp"

/// What programs may count on besides the bytes, each a case of its own.
namespace weir::testing {
namespace {

class Semantics : public FileWorld {};

TEST_F(Semantics, types_beyond_2_GiB_can_be_views) {
  // A byte for each rank, then 4 GiB that are not touched.
  MPI_Datatype gib = MPI_DATATYPE_NULL, view = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 30, MPI_BYTE, &gib);
  const std::array<int, 2> lengths{1, 4};
  const std::array<MPI_Aint, 2> places{rank(), 4096};
  const std::array<MPI_Datatype, 2> types{MPI_BYTE, gib};
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &view);
  MPI_Type_commit(&view);
  MPI_File opened = open("large");
  ASSERT_EQ(MPI_File_set_view(opened, 0, MPI_BYTE, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const char mine = static_cast<char>('a' + rank());
  EXPECT_EQ(MPI_File_write_at_all(opened, 0, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("large"), std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks())));
  MPI_Type_free(&view);
  MPI_Type_free(&gib);
}

TEST_F(Semantics, the_first_rank_may_replace_a_file_before_it_opens_it_with_the_others) {
  const std::string now = file("replaced"), before = file("before");
  for (const std::string how : {"delete", "unlink", "rename", "swap", "look"}) {
    SCOPED_TRACE(how);
    if (rank() == 0) {
      std::filesystem::remove(before);
      std::filesystem::remove(now);
      if (how != "look") std::ofstream{now} << std::string(100, 'x');
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});  // the others are there before it
      if (how == "delete") MPI_File_delete(now.c_str(), MPI_INFO_NULL);
      if (how == "unlink") std::filesystem::remove(now);
      if (how == "rename") std::filesystem::rename(now, before);
      if (how == "swap") {
        std::ofstream{before}.close();
        std::filesystem::rename(before, now);
      }
      if (how == "look") {
        EXPECT_FALSE(std::filesystem::exists(now));
      }
    }
    MPI_File opened = open("replaced");
    if (rank() == 0) std::filesystem::rename(now, now + ".moved");  // no rank finds it by its name any more
    MPI_Offset size = -1;
    EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const char mine = static_cast<char>('a' + rank());
    EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &mine, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
    EXPECT_EQ(contents("replaced.moved"), std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks())));
    if (how == "rename") {
      EXPECT_EQ(contents("before"), std::string(100, 'x'));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Semantics, a_view_that_mpi_forbids_is_told_as_by_the_mpi_library) {
  struct {
    std::array<int, 2> lengths, places;
  } const forbidden[] = {{{1, 1}, {3, 0}}, {{3, 1}, {0, 1}}, {{1, 1}, {-2, 2}}};
  for (const auto& [lengths, places] : forbidden) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_indexed(2, lengths.data(), places.data(), MPI_INT, &type);
    MPI_Type_commit(&type);
    const auto told = [&](const char* name, int mode) {
      MPI_File opened = open(name, mode);
      int kind = MPI_SUCCESS;
      MPI_Error_class(MPI_File_set_view(opened, 0, MPI_INT, type, "native", MPI_INFO_NULL), &kind);
      EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
      return kind;
    };
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    EXPECT_EQ(told("forbidden", mode), told("plain_forbidden", mode)) << places[0];
    MPI_Type_free(&type);
  }
}

TEST_F(Semantics, atomic_mode_can_be_switched_on_and_off) {
  MPI_File opened = open("atomic");
  EXPECT_EQ(MPI_File_set_atomicity(opened, 1), MPI_SUCCESS);
  const int value = 7 + rank();
  EXPECT_EQ(MPI_File_write_at_all(opened, 4 * rank(), &value, 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_set_atomicity(opened, 0), MPI_SUCCESS);
  int back = 0;
  EXPECT_EQ(MPI_File_read_at_all(opened, 4 * rank(), &back, 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, value);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, an_access_alone_sees_what_all_have_written_through_the_same_view) {
  MPI_File opened = open("mixed");
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(sizeof(int)) * ranks(), &view);
  MPI_Type_commit(&view);
  const auto at = static_cast<MPI_Offset>(sizeof(int)) * rank();
  ASSERT_EQ(MPI_File_set_view(opened, at, MPI_INT, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const std::array<int, 3> mine{rank(), rank() + 100, rank() + 200};
  EXPECT_EQ(MPI_File_write_all(opened, mine.data(), 3, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  std::array<int, 3> back{};
  EXPECT_EQ(MPI_File_read_at(opened, 0, back.data(), 3, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, mine);
  const int more = 300 + rank();
  EXPECT_EQ(MPI_File_write(opened, &more, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Offset position = 0, byte = 0, displacement = 0;
  MPI_File_get_position(opened, &position);
  EXPECT_EQ(position, 4);
  MPI_File_get_byte_offset(opened, 4, &byte);
  EXPECT_EQ(byte, at + 4 * static_cast<MPI_Offset>(sizeof(int)) * ranks());
  MPI_Datatype element = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  char representation[MPI_MAX_DATAREP_STRING] = {};
  MPI_Aint low = 0, extent = 0;
  MPI_File_get_view(opened, &displacement, &element, &type, representation);
  MPI_Type_get_extent(type, &low, &extent);
  EXPECT_EQ(displacement, at);
  EXPECT_EQ(extent, static_cast<MPI_Aint>(sizeof(int)) * ranks());
  EXPECT_STREQ(representation, "native");
  MPI_Type_free(&type);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(MPI_File_seek(opened, -1, MPI_SEEK_CUR), MPI_SUCCESS);
  int last = 0;
  EXPECT_EQ(MPI_File_read_all(opened, &last, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(last, more);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Type_free(&view);
}

TEST_F(Semantics, a_plan_is_used_again_where_the_pieces_really_are) {
  // Both views are without holes, but the second begins 4 bytes behind its displacement.
  MPI_File opened = open("again");
  MPI_Datatype moved = MPI_DATATYPE_NULL, view = MPI_DATATYPE_NULL;
  const MPI_Aint place = 4;
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &moved);
  MPI_Type_create_resized(moved, 0, sizeof(int), &view);
  MPI_Type_commit(&view);
  const int first = rank(), second = 100 + rank();
  MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &first, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  const MPI_Offset behind = static_cast<MPI_Offset>(sizeof(int)) * (ranks() - 1);
  MPI_File_set_view(opened, behind, MPI_INT, view, "native", MPI_INFO_NULL);
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &second, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  std::string expected;
  for (int i = 0; i < 2 * ranks(); ++i) {
    const int value = i < ranks() ? i : 100 + i - ranks();
    expected.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  EXPECT_EQ(contents("again"), expected);
  MPI_Type_free(&view);
  MPI_Type_free(&moved);
}

TEST_F(Semantics, memory_may_be_given_by_addresses) {
  std::array<int, 2> first{rank(), 100 + rank()};
  double second = 0.5 * rank();
  std::array<MPI_Aint, 2> places{};
  MPI_Get_address(first.data(), &places[0]);
  MPI_Get_address(&second, &places[1]);
  const std::array<int, 2> lengths{2, 1};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_DOUBLE};
  MPI_Datatype both = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &both);
  MPI_Type_commit(&both);
  MPI_File opened = open("addresses");
  EXPECT_EQ(MPI_File_write_at_all(opened, 16 * rank(), MPI_BOTTOM, 1, both, MPI_STATUS_IGNORE), MPI_SUCCESS);
  first = {};
  second = 0;
  EXPECT_EQ(MPI_File_read_at_all(opened, 16 * rank(), MPI_BOTTOM, 1, both, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(first, (std::array<int, 2>{rank(), 100 + rank()}));
  EXPECT_EQ(second, 0.5 * rank());
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Type_free(&both);
}

TEST_F(Semantics, appended_data_goes_behind_what_is_there) {
  if (rank() == 0) std::ofstream{file("log")} << "old ";
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File opened = open("log", MPI_MODE_WRONLY | MPI_MODE_APPEND);
  EXPECT_EQ(MPI_File_write_all(opened, "new", rank() == 0 ? 3 : 0, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("log"), "old new");
}

TEST_F(Semantics, several_files_of_several_communicators_are_open_at_once) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, 0, &half);
  MPI_File all = open("all"), again = open("again"),
           part = open(rank() % 2 == 0 ? "even" : "odd", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, half);
  int place = 0;
  MPI_Comm_rank(half, &place);
  const char mine = static_cast<char>('a' + rank());
  EXPECT_EQ(MPI_File_write_at_all(part, place, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all_begin(all, rank(), &mine, 1, MPI_BYTE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all(again, ranks() - 1 - rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all_end(all, &mine, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (MPI_File* opened : {&part, &again, &all}) EXPECT_EQ(MPI_File_close(opened), MPI_SUCCESS);
  std::string letters = std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks()));
  EXPECT_EQ(contents("all"), letters);
  EXPECT_EQ(contents("again"), std::string(letters.rbegin(), letters.rend()));
  std::string even;
  for (std::size_t i = 0; i < letters.size(); i += 2) even += letters[i];
  EXPECT_EQ(contents("even"), even);
  MPI_Comm_free(&half);
}

TEST_F(Semantics, a_file_may_have_any_number_of_patterns_of_any_size) {
  MPI_File opened = open("patterns");
  for (int bytes = 1; bytes < 3'000'000; bytes += bytes / 4 + 1) {
    // Each rank has two pieces, so that there is something to aggregate, and no two sizes have the same plan.
    std::vector<char> mine(static_cast<std::size_t>(bytes), static_cast<char>('a' + rank())), back(mine.size());
    MPI_Datatype view = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, (bytes + 1) / 2, (bytes + 1) / 2 * ranks(), MPI_BYTE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(opened, static_cast<MPI_Offset>((bytes + 1) / 2) * rank(), MPI_BYTE, view, "native",
                      MPI_INFO_NULL);
    ASSERT_EQ(MPI_File_write_at_all(opened, 0, mine.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS) << bytes;
    ASSERT_EQ(MPI_File_read_at_all(opened, 0, back.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS) << bytes;
    ASSERT_EQ(back, mine) << bytes;
    MPI_Type_free(&view);
  }
  EXPECT_EQ(hint(opened, "weir"), "collective");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, hints_are_honoured_and_told) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "cb_buffer_size", "8192");
  MPI_File opened = open("hints", MPI_MODE_CREATE | MPI_MODE_RDWR, info);
  EXPECT_EQ(hint(opened, "weir"), "collective");
  EXPECT_EQ(hint(opened, "cb_nodes"), "1");
  EXPECT_EQ(hint(opened, "cb_buffer_size"), "8192");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Info_set(info, "romio_cb_write", "disable");
  opened = open("hints", MPI_MODE_CREATE | MPI_MODE_RDWR, info);
  EXPECT_EQ(hint(opened, "weir"), "hint romio_cb_write is disable");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Info_free(&info);
}

/// The MPI library opens none of these files before something is passed through.
TEST_F(Semantics, hints_that_are_given_late_reach_the_MPI_library_and_Weir) {
  const auto hints = [](const char* name, const char* value) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, name, value);
    return info;
  };
  MPI_Info sieve_no_reads = hints("romio_ds_read", "disable"), sieve_no_writes = hints("romio_ds_write", "disable");
  MPI_Info own = hints("access_style", "write_once"), one_aggregator = hints("cb_nodes", "1");
  MPI_Info alone = hints("romio_cb_write", "disable");
  // Before the MPI library has opened the file.
  MPI_File opened = open("later");
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_BYTE, MPI_BYTE, "native", sieve_no_reads), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_set_info(opened, own), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_read"), "disable");
  EXPECT_EQ(hint(opened, "romio_ds_write"), "");
  EXPECT_EQ(hint(opened, "access_style"), "write_once");
  // When it has: then all hints are those that the library tells.
  EXPECT_EQ(MPI_File_preallocate(opened, 4 * ranks()), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_read"), "disable");
  EXPECT_EQ(MPI_File_set_info(opened, sieve_no_writes), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_write"), "disable");
  MPI_Info_set(sieve_no_reads, "romio_ds_read", "enable");
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "native", rank() == 0 ? MPI_INFO_NULL : sieve_no_reads),
            MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_read"), rank() == 0 ? "disable" : "enable");
  // Weir's own.
  const auto write = [&](int value) {
    EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int back = 0;
    EXPECT_EQ(MPI_File_read_at_all(opened, rank(), &back, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(back, value);
  };
  write(1);
  EXPECT_EQ(MPI_File_set_info(opened, one_aggregator), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "cb_nodes"), "1");
  EXPECT_EQ(hint(opened, "weir"), "collective");
  write(2);
  EXPECT_EQ(MPI_File_set_info(opened, alone), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "weir"), "hint romio_cb_write is disable");
  write(3);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  for (MPI_Info* info : {&sieve_no_reads, &sieve_no_writes, &own, &one_aggregator, &alone}) MPI_Info_free(info);
}

TEST_F(Semantics, what_a_file_is_can_be_asked_before_anything_is_passed_through) {
  MPI_File opened = open("asked");
  int mode = 0, same = MPI_UNEQUAL, atomic = 1;
  EXPECT_EQ(MPI_File_get_amode(opened, &mode), MPI_SUCCESS);
  EXPECT_EQ(mode, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  EXPECT_EQ(MPI_File_get_group(opened, &group), MPI_SUCCESS);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &same);
  EXPECT_EQ(same, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  EXPECT_EQ(MPI_File_get_atomicity(opened, &atomic), MPI_SUCCESS);
  EXPECT_EQ(atomic, 0);
  MPI_Aint extent = 0;
  EXPECT_EQ(MPI_File_get_type_extent(opened, MPI_DOUBLE, &extent), MPI_SUCCESS);
  EXPECT_EQ(extent, static_cast<MPI_Aint>(sizeof(double)));
  MPI_Offset size = -1;
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 0);
  EXPECT_EQ(MPI_File_set_size(opened, 1000), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 1000);
  EXPECT_EQ(MPI_File_seek(opened, -1, MPI_SEEK_END), MPI_SUCCESS);
  MPI_Offset position = 0;
  EXPECT_EQ(MPI_File_get_position(opened, &position), MPI_SUCCESS);
  EXPECT_EQ(position, 999);
  EXPECT_EQ(MPI_File_sync(opened), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_preallocate(opened, 5000), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 5000);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "access_style", "write_once");
  EXPECT_EQ(MPI_File_set_info(opened, info), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "access_style"), "write_once");
  MPI_Info_free(&info);
  EXPECT_EQ(MPI_File_c2f(MPI_File_f2c(MPI_File_c2f(opened))), MPI_File_c2f(opened));
  EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(opened)), opened);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(opened, MPI_FILE_NULL);
}

MPI_File handled_for = MPI_FILE_NULL;
void note(MPI_File* file, int*, ...) { handled_for = *file; }

TEST_F(Semantics, errors_go_to_the_handler_of_the_file_with_its_handle) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_File_create_errhandler(note, &handler);
  MPI_File opened = open("handled"), other = open("other");
  EXPECT_EQ(MPI_File_set_errhandler(opened, handler), MPI_SUCCESS);
  MPI_Errhandler_free(&handler);
  char byte = 0;
  const auto fails_with_handler = [&](int code, const char* what) {
    EXPECT_NE(code, MPI_SUCCESS) << what;
    EXPECT_EQ(handled_for, opened) << what;
    handled_for = MPI_FILE_NULL;
  };
  fails_with_handler(MPI_File_write_at_all(opened, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), "together");
  fails_with_handler(MPI_File_write_at(opened, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), "alone");
  fails_with_handler(MPI_File_set_size(opened, -1), "the size");
  fails_with_handler(MPI_File_set_view(opened, -1, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "the view");
  fails_with_handler(MPI_File_set_view(opened, 0, MPI_BYTE, MPI_BYTE, "no such", MPI_INFO_NULL), "the representation");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  // The next file has the handler that all files begin with.
  MPI_File next = open("next");
  EXPECT_NE(MPI_File_write_at_all(next, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(handled_for, MPI_FILE_NULL);
  EXPECT_EQ(MPI_File_close(&next), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&other), MPI_SUCCESS);
}

TEST_F(Semantics, modes_of_opening_are_kept) {
  const auto kind_of = [&](const char* name, int mode, MPI_File* opened) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, file(name).c_str(), mode, MPI_INFO_NULL, opened), &kind);
    return kind;
  };
  MPI_File opened = MPI_FILE_NULL;
  EXPECT_EQ(kind_of("made", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, &opened), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(kind_of("made", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, &opened), MPI_ERR_FILE_EXISTS);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDONLY | MPI_MODE_CREATE, &opened), MPI_ERR_AMODE);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDONLY | MPI_MODE_RDWR, &opened), MPI_ERR_AMODE);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDONLY, &opened), MPI_SUCCESS);
  char byte = 0;
  EXPECT_NE(MPI_File_write_at_all(opened, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_NE(MPI_File_write_at(opened, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_NE(MPI_File_set_size(opened, 10), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, &opened), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(std::filesystem::exists(file("made")));
}

TEST_F(Semantics, a_file_that_was_removed_can_be_used_until_it_is_closed) {
  MPI_File opened = open("removed");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove(file("removed"));
  MPI_Barrier(MPI_COMM_WORLD);
  const char mine = static_cast<char>('a' + rank());
  char back = 0;
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_read_at(opened, rank(), &back, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, mine);
  EXPECT_EQ(MPI_File_set_atomicity(opened, 1), MPI_SUCCESS);  // now the MPI library moves the data
  EXPECT_EQ(MPI_File_read_at_all(opened, ranks() - 1, &back, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, static_cast<char>('a' + ranks() - 1));
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, some_ranks_have_one_piece_and_others_many_or_none) {
  // Rank 0 has every other byte of the first 20, the last rank none, the others one piece behind them.
  const bool many = rank() == 0, none = rank() > 0 && rank() == ranks() - 1;
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_BYTE, 0, many ? 2 : 1, &view);
  MPI_Type_commit(&view);
  std::string expected(static_cast<std::size_t>(10 * (ranks() + 1)), '.');
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (i < 20 ? i % 2 == 0 : i < 10 * static_cast<std::size_t>(ranks())) expected[i] = 'x';
  if (rank() == 0) std::ofstream{file("shares")} << std::string(expected.size(), '.');
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File opened = open("shares");
  const MPI_Offset at = many ? 0 : 10 * (rank() + 1);
  ASSERT_EQ(MPI_File_set_view(opened, at, MPI_BYTE, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const std::string mine(10, 'x');
  for (int time = 0; time < 3; ++time) {  // what was found out the first time is used later
    EXPECT_EQ(MPI_File_write_at_all(opened, 0, mine.data(), none ? 0 : 10, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::string back(10, ' ');
    MPI_Status status;
    int count = 0;
    EXPECT_EQ(MPI_File_read_at_all(opened, 0, back.data(), none ? 0 : 10, MPI_BYTE, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, none ? 0 : 10);
    EXPECT_EQ(back, none ? std::string(10, ' ') : mine);
    // In between all have one piece, one of them beyond the end of the file.
    MPI_File_set_view(opened, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    const auto end = static_cast<MPI_Offset>(expected.size());
    EXPECT_EQ(MPI_File_read_at_all(opened, none ? end - 3 : 0, back.data(), 10, MPI_BYTE, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, none ? 3 : 10);
    MPI_File_set_view(opened, at, MPI_BYTE, view, "native", MPI_INFO_NULL);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("shares"), expected);
  MPI_Type_free(&view);
}

TEST_F(Semantics, a_file_that_cannot_be_opened_is_told_by_all) {
  MPI_File opened = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, file("none/such").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &opened);
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  EXPECT_EQ(kind, MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(opened, MPI_FILE_NULL);
}

}  // namespace
}  // namespace weir::testing
