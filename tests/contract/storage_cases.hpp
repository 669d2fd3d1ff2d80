#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/faulty_storage.hpp"
#include "storage/make_storage.hpp"
#include "storage/posix_storage.hpp"

/// The storages that tests run on, and how they use one.
namespace weir {

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

using Buffer = std::vector<std::byte>;

inline Buffer random_bytes(std::size_t length, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  Buffer bytes(length);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

inline Io io_of(Io::Kind kind, Buffer& bytes, std::uint64_t offset) {
  return {.kind = kind, .data = bytes.data(), .offset = offset, .length = bytes.size()};
}

inline Io run(Storage& file, Io io) {
  file.submit(io);
  while (!io.finished) file.wait();
  return io;
}

inline Io write(Storage& file, Buffer& bytes, std::uint64_t offset) {
  return run(file, io_of(Io::Kind::write, bytes, offset));
}
inline Io read(Storage& file, Buffer& bytes, std::uint64_t offset) {
  return run(file, io_of(Io::Kind::read, bytes, offset));
}

struct Case {
  const char* name;
  const char* kind;
  const char* async;
  const char* parent;  // of the test's directory; none where paths are only names
};

inline constexpr Case posix_cases[] = {
    {"posix_plain_on_tmp", "posix", "plain", "/tmp"},
    {"posix_plain_on_shm", "posix", "plain", "/dev/shm"},
    {"posix_uring_on_tmp", "posix", "uring", "/tmp"},
    {"posix_uring_on_shm", "posix", "uring", "/dev/shm"},
};
inline constexpr Case memory_case{"memory", "memory", "auto", nullptr};
inline constexpr Case null_case{"null", "null", "auto", nullptr};

inline void PrintTo(const Case& storage, std::ostream* out) { *out << storage.name; }
inline std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

class StorageTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().async == std::string{"uring"} && !built_with_uring()) GTEST_SKIP() << "built without liburing";
    if (const char* parent = GetParam().parent) {
      std::string name = std::string{parent} + "/weir-storage-XXXXXX";
      ASSERT_NE(mkdtemp(name.data()), nullptr) << std::strerror(errno);
      directory_ = name;
    }
    system_ = make();
  }

  void TearDown() override {
    system_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  static std::unique_ptr<StorageSystem> make() {
    return make_storage_system(GetParam().kind, GetParam().async).value();
  }

  /// Replaces the system by one with faults.
  FaultyStorageSystem& with_faults(const std::string& rules, int rank = 0) {
    auto faulty = FaultyStorageSystem::make(make(), rules, rank).value();
    auto& system = *faulty;
    system_ = std::move(faulty);
    return system;
  }

  [[nodiscard]] std::string path(const std::string& name = "file") const { return directory_ + "/" + name; }
  [[nodiscard]] std::unique_ptr<Storage> open(OpenMode mode, const std::string& name = "file") const {
    return system_->open(path(name), mode).value();
  }

  Buffer content(std::size_t length, std::uint64_t offset = 0) {
    Buffer bytes(length);
    auto file = open(OpenMode::read);
    EXPECT_EQ(read(*file, bytes, offset).done, length);
    return bytes;
  }

  std::string directory_;
  std::unique_ptr<StorageSystem> system_;
};

/// Storages that keep what they are given.
class KeepingStorageTest : public StorageTest {};

}  // namespace weir
