// What every storage must do.

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "contract/storage_cases.hpp"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Every, StorageTest,
                         ::testing::Values(posix_cases[0], posix_cases[1], posix_cases[2], posix_cases[3], memory_case,
                                         null_case),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Every, KeepingStorageTest,
                         ::testing::Values(posix_cases[0], posix_cases[1], posix_cases[2], posix_cases[3], memory_case),
                         name_of);

TEST_P(StorageTest, writes_all_bytes_and_reports_them) {
  Buffer bytes = random_bytes(3 * MiB + 17, 1);
  auto file = open(OpenMode::create);
  const Io io = write(*file, bytes, 5);
  EXPECT_EQ(io.error, 0);
  EXPECT_EQ(io.done, bytes.size());
  EXPECT_EQ(file->size(), static_cast<std::int64_t>(bytes.size() + 5));
  EXPECT_EQ(file->poll(), 0u);
  EXPECT_EQ(file->sync(), 0);
  EXPECT_EQ(file->close(), 0);
}

TEST_P(StorageTest, finishes_an_empty_transfer_at_once) {
  auto file = open(OpenMode::create);
  Io io{.kind = Io::Kind::write};
  file->submit(io);
  EXPECT_TRUE(io.finished);
  EXPECT_EQ(io.error, 0);
  EXPECT_EQ(file->size(), 0);
}

TEST_P(StorageTest, wait_returns_at_once_when_nothing_is_under_way) {
  auto file = open(OpenMode::create);
  file->wait();
  EXPECT_EQ(file->poll(), 0u);
}

TEST_P(StorageTest, closing_twice_is_an_error_and_harmless) {
  auto file = open(OpenMode::create);
  Buffer bytes(8);
  EXPECT_EQ(write(*file, bytes, 0).error, 0);
  EXPECT_EQ(file->close(), 0);
  EXPECT_EQ(file->close(), EBADF);
  EXPECT_EQ(file->sync(), EBADF);
  EXPECT_EQ(file->size(), -1);
  EXPECT_EQ(write(*file, bytes, 0).error, EBADF);
}

TEST_P(StorageTest, refuses_offsets_that_no_file_has) {
  auto file = open(OpenMode::create);
  Buffer bytes(8);
  const Io io = write(*file, bytes, ~std::uint64_t{0} - 3);
  EXPECT_EQ(io.error, EOVERFLOW);
  EXPECT_EQ(io.done, 0u);
}

TEST_P(StorageTest, an_io_can_be_used_again) {
  Buffer bytes(100);
  auto file = open(OpenMode::create);
  Io io = write(*file, bytes, 0);
  io.offset = 100;
  io = run(*file, io);
  EXPECT_EQ(io.done, 100u);
  EXPECT_EQ(file->size(), 200);
}

TEST_P(KeepingStorageTest, reads_back_what_was_written_at_random_offsets) {
  constexpr std::uint64_t seed = 20240607, extent = 2 * MiB;
  SCOPED_TRACE(seed);
  std::mt19937_64 random{seed};
  Buffer expected(extent);
  open(OpenMode::create)->close();
  auto file = open(OpenMode::update);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t offset = random() % extent;
    Buffer bytes = random_bytes(std::min(extent - offset, 1 + random() % (64 * KiB)), random());
    EXPECT_EQ(write(*file, bytes, offset).done, bytes.size());
    std::ranges::copy(bytes, expected.begin() + static_cast<std::ptrdiff_t>(offset));
    Buffer back(bytes.size());
    EXPECT_EQ(read(*file, back, offset).done, back.size());
    ASSERT_EQ(back, bytes);
  }
  expected.resize(static_cast<std::size_t>(file->size()));
  EXPECT_EQ(file->close(), 0);
  EXPECT_EQ(content(expected.size()), expected);
}

TEST_P(KeepingStorageTest, memory_may_lie_in_parts) {
  constexpr std::uint64_t seed = 20240608;
  SCOPED_TRACE(seed);
  std::mt19937_64 random{seed};
  for (const char* rules : {"op=sync error=EIO", "op=write short=3000; op=read short=700"}) {
    SCOPED_TRACE(rules);
    with_faults(rules);
    Buffer bytes = random_bytes(3 * MiB, 21), back(bytes.size());
    open(OpenMode::create)->close();
    auto file = open(OpenMode::update);
    ASSERT_TRUE(file->takes_parts());
    for (auto [kind, buffer] : {std::pair{Io::Kind::write, &bytes}, {Io::Kind::read, &back}}) {
      std::vector<iovec> parts;  // more than one call takes
      for (std::size_t at = 0; at < buffer->size(); at += parts.back().iov_len)
        parts.push_back({buffer->data() + at, std::min<std::size_t>(1 + random() % 4000, buffer->size() - at)});
      const Io io = run(*file, {.kind = kind, .offset = 77, .length = buffer->size(), .parts = parts});
      EXPECT_EQ(io.error, 0);
      EXPECT_EQ(io.done, buffer->size());
    }
    EXPECT_EQ(back, bytes);
    file->close();
    EXPECT_EQ(content(bytes.size(), 77), bytes);
    iovec two[] = {{back.data(), 100}, {back.data() + 200, MiB}};  // past the end
    auto again = open(OpenMode::read);
    const Io end =
        run(*again, {.kind = Io::Kind::read, .offset = 77 + bytes.size() - 150, .length = 100 + MiB, .parts = two});
    EXPECT_EQ(end.error, 0);
    EXPECT_EQ(end.done, 150u);
  }
}

TEST_P(KeepingStorageTest, holes_read_as_zeros) {
  Buffer bytes = random_bytes(100, 3);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 1 * MiB).error, 0);
  EXPECT_EQ(content(1 * MiB), Buffer(1 * MiB));
  EXPECT_EQ(content(100, 1 * MiB), bytes);
}

TEST_P(KeepingStorageTest, offsets_beyond_32_bits_are_other_places) {
  Buffer low = random_bytes(4096, 4), high = random_bytes(4096, 5), end = random_bytes(4096, 6);
  constexpr std::uint64_t far = (std::uint64_t{1} << 32) + 512, farther = std::uint64_t{1} << 40;
  auto file = open(OpenMode::create);
  EXPECT_EQ(write(*file, low, 512).error, 0);
  EXPECT_EQ(write(*file, high, far).error, 0);
  EXPECT_EQ(write(*file, end, farther).error, 0);
  EXPECT_EQ(file->size(), static_cast<std::int64_t>(farther + 4096));
  EXPECT_EQ(content(4096, 512), low);
  EXPECT_EQ(content(4096, far), high);
  EXPECT_EQ(content(4096, farther), end);
}

TEST_P(KeepingStorageTest, reading_past_the_end_is_short_without_error) {
  Buffer bytes = random_bytes(1000, 7), room(4096);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).error, 0);
  auto file = open(OpenMode::read);
  Io io = read(*file, room, 600);
  EXPECT_EQ(io.done, 400u);
  EXPECT_EQ(io.error, 0);
  io = read(*file, room, 5000);
  EXPECT_EQ(io.done, 0u);
  EXPECT_EQ(io.error, 0);
}

TEST_P(KeepingStorageTest, more_transfers_than_any_queue_holds_are_all_done) {
  constexpr std::size_t count = 300, length = 10007;
  Buffer bytes = random_bytes(count * length, 8), back(bytes.size());
  open(OpenMode::create)->close();
  auto file = open(OpenMode::update);
  for (auto [kind, buffer] : {std::pair{Io::Kind::write, &bytes}, {Io::Kind::read, &back}}) {
    std::vector<Io> ios;
    for (std::size_t i = 0; i < count; ++i) {
      ios.push_back({.kind = kind, .data = buffer->data() + i * length, .offset = i * length, .length = length});
    }
    for (Io& io : ios) file->submit(io);
    while (file->poll() > 0) file->wait();
    for (const Io& io : ios) {
      ASSERT_TRUE(io.finished);
      ASSERT_EQ(io.error, 0);
      ASSERT_EQ(io.done, length);
    }
  }
  EXPECT_EQ(back, bytes);
}

TEST_P(KeepingStorageTest, close_finishes_what_is_under_way) {
  Buffer bytes = random_bytes(4 * MiB, 9);
  Io io = io_of(Io::Kind::write, bytes, 0);
  auto file = open(OpenMode::create);
  file->submit(io);
  EXPECT_EQ(file->close(), 0);
  EXPECT_TRUE(io.finished);
  EXPECT_EQ(content(bytes.size()), bytes);
}

TEST_P(KeepingStorageTest, create_empties_and_update_keeps) {
  Buffer bytes = random_bytes(5000, 10), one(1);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).error, 0);
  EXPECT_EQ(write(*open(OpenMode::update), one, 0).error, 0);
  EXPECT_EQ(open(OpenMode::read)->size(), 5000);
  EXPECT_EQ(open(OpenMode::create)->size(), 0);
}

TEST_P(KeepingStorageTest, a_file_is_moved_only_in_the_direction_it_was_opened_for) {
  Buffer bytes(10);
  auto file = open(OpenMode::create);
  EXPECT_EQ(read(*file, bytes, 0).error, EBADF);
  EXPECT_EQ(write(*open(OpenMode::read), bytes, 0).error, EBADF);
}

TEST_P(KeepingStorageTest, a_missing_file_is_not_found) {
  for (OpenMode mode : {OpenMode::read, OpenMode::update}) {
    const Status status = system_->open(path("absent"), mode).status();
    EXPECT_EQ(status.code(), Code::not_found);
    EXPECT_NE(status.message().find("absent'"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.message();
  }
  EXPECT_EQ(system_->remove(path("absent")).code(), Code::not_found);
  EXPECT_EQ(system_->rename(path("absent"), path("other")).code(), Code::not_found);
}

TEST_P(KeepingStorageTest, rename_replaces_and_remove_removes) {
  Buffer bytes = random_bytes(77, 11);
  EXPECT_EQ(write(*open(OpenMode::create, "new"), bytes, 0).error, 0);
  open(OpenMode::create)->close();
  EXPECT_TRUE(system_->rename(path("new"), path()).ok());
  EXPECT_TRUE(system_->sync_directory(path()).ok());
  EXPECT_EQ(content(77), bytes);
  EXPECT_EQ(system_->open(path("new"), OpenMode::read).status().code(), Code::not_found);
  EXPECT_TRUE(system_->remove(path()).ok());
  EXPECT_EQ(system_->open(path(), OpenMode::read).status().code(), Code::not_found);
}

TEST_P(KeepingStorageTest, a_removed_file_lives_until_it_is_closed) {
  Buffer bytes = random_bytes(77, 12), back(77);
  open(OpenMode::create)->close();
  auto file = open(OpenMode::update);
  EXPECT_TRUE(system_->remove(path()).ok());
  EXPECT_EQ(write(*file, bytes, 0).error, 0);
  EXPECT_EQ(read(*file, back, 0).error, 0);
  EXPECT_EQ(back, bytes);
}

TEST(NullStorage, reads_zeros_without_end) {
  auto file = make_storage_system("null").value()->open("any", OpenMode::read).value();
  Buffer bytes = random_bytes(1000, 18);
  EXPECT_EQ(read(*file, bytes, 1 * GiB).done, 1000u);
  EXPECT_EQ(bytes, Buffer(1000));
}

}  // namespace
}  // namespace weir
