#include "subfile/set_storage.hpp"

#include <gtest/gtest.h>

#include "storage/memory_storage.hpp"

namespace weir {
namespace {

/// A set of small sub-files in memory: file f holds 10 bytes of value f.
class Set : public ::testing::Test {
 protected:
  static constexpr std::uint32_t count = 3 * SetStorage::most_open;

  void SetUp() override {
    files_ = {"out", 0x1234567800000000, FileGroups::for_reading(count), std::vector<std::uint64_t>(count, 10)};
    SetStorage storage{system_, files_, OpenMode::update, problem_};
    for (std::uint32_t f = 0; f < count; ++f) {
      ASSERT_TRUE(storage.create(f).ok());
      std::vector<std::byte> data(10, static_cast<std::byte>(f));
      Io io{Io::Kind::write, data.data(), files_.space.base(f), 10};
      storage.submit(io);
      ASSERT_EQ(io.done, 10u);
      ASSERT_TRUE(storage.seal(f, 10).ok());
    }
    ASSERT_EQ(storage.close(), 0);
  }

  /// One byte of a sub-file.
  Io read(Storage& storage, std::uint32_t file, std::byte& value) const {
    Io io{Io::Kind::read, &value, files_.space.base(file) + 9, 1};
    storage.submit(io);
    return io;
  }
  /// Why a sub-file cannot be read.
  Status reading(std::uint32_t file) {
    SetStorage storage{system_, files_, OpenMode::read, problem_};
    std::byte value{};
    problem_ = {};
    const Io io = read(storage, file, value);
    EXPECT_NE(io.error, 0);
    EXPECT_EQ(io.done, 0u);
    return problem_;
  }
  MemoryFile& content(std::uint32_t file) { return *all_->at(files_.name(file)); }

  std::shared_ptr<MemoryStorageSystem::Files> all_ = std::make_shared<MemoryStorageSystem::Files>();
  MemoryStorageSystem system_{all_};
  SubFiles files_;
  Status problem_;
};

TEST_F(Set, reads_more_sub_files_than_are_open_at_a_time) {
  SetStorage storage{system_, files_, OpenMode::read, problem_};
  for (const std::uint32_t step : {1u, 7u, 65u})
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t file = i * step % count;
      std::byte value{0xff};
      const Io io = read(storage, file, value);
      ASSERT_EQ(io.error, 0) << problem_.message();
      ASSERT_TRUE(io.finished);
      ASSERT_EQ(io.offset, files_.space.base(file) + 9) << "the owner's offset comes back";
      ASSERT_EQ(value, static_cast<std::byte>(file));
    }
  EXPECT_LE(storage.size(), static_cast<std::int64_t>(SetStorage::most_open * 42));
}

TEST_F(Set, tells_a_missing_sub_file_by_its_name) {
  all_->erase(files_.name(5));
  const Status status = reading(5);
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.message().find("out.12345678.0005"), std::string::npos) << status.message();
}

TEST_F(Set, takes_no_sub_file_that_is_too_short_or_long) {
  for (const std::uint64_t size : {0u, 9u, 41u, 43u}) {
    content(5).size = size;
    const Status status = reading(5);
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find("and should have 42"), std::string::npos) << status.message();
  }
}

TEST_F(Set, takes_no_sub_file_of_another_set_or_place) {
  content(5) = content(6);
  EXPECT_EQ(reading(5).code(), Code::corrupt);
  for (std::size_t byte = 10; byte < 42; ++byte) {
    content(7).pages[0][byte] ^= std::byte{1};
    const Status status = reading(7);
    EXPECT_EQ(status.code(), Code::corrupt) << byte;
    EXPECT_NE(status.message().find("not the sub-file of this set"), std::string::npos) << status.message();
    content(7).pages[0][byte] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace weir
