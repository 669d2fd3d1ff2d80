// What storages on file systems must do beside, where the system sets limits.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <atomic>
#include <new>
#include <span>

#include "contract/storage_cases.hpp"
#include "core/errors.hpp"
#include "limit.hpp"
#include "storage/posix_storage.hpp"
#include "machine/posix_traits.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}

// Not inlined: GCC would else take the pair for a mismatch of new and free.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir {
namespace {

/// Storages on file systems.
class PosixStorageTest : public StorageTest {};
/// Of those, the ones that move beside the caller.
class UringStorageTest : public StorageTest {};

INSTANTIATE_TEST_SUITE_P(Every, PosixStorageTest, ::testing::ValuesIn(posix_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Every, UringStorageTest, ::testing::Values(posix_cases[2], posix_cases[3]), name_of);

TEST_P(PosixStorageTest, a_directory_is_no_file) {
  for (OpenMode mode : {OpenMode::create, OpenMode::read, OpenMode::update}) {
    const Status status = system_->open(directory_, mode).status();
    EXPECT_EQ(status.code(), Code::exists) << status.message();
    EXPECT_NE(status.message().find("Is a directory"), std::string::npos) << status.message();
  }
}

TEST_P(PosixStorageTest, a_missing_directory_is_not_found_and_named) {
  const Status status = system_->open(path("no/such/file"), OpenMode::create).status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.message().find("directory '" + directory_ + "/no/such'"), std::string::npos) << status.message();
  EXPECT_EQ(system_->sync_directory(path("no/such/file")).code(), Code::not_found);
}

TEST_P(PosixStorageTest, a_forbidden_file_is_an_access_error) {
  open(OpenMode::create)->close();
  std::filesystem::permissions(path(), std::filesystem::perms::none);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  const bool root = geteuid() == 0;  // who may open everything, so not as root
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  const Code code = system_->open(path(), OpenMode::update).status().code();
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_EQ(code, Code::access);
}

TEST_P(PosixStorageTest, running_out_of_descriptors_is_told_with_the_limit) {
  open(OpenMode::create)->close();
  const Limit limit{RLIMIT_NOFILE, 3};
  const Status status = system_->open(path(), OpenMode::read).status();
  EXPECT_EQ(status.code(), Code::too_many_files);
  EXPECT_NE(status.message().find("now 3 a process"), std::string::npos) << status.message();
}

TEST_P(PosixStorageTest, works_plainly_when_no_descriptor_is_left_for_a_ring) {
  Buffer bytes = random_bytes(10000, 13);
  auto file = open(OpenMode::create);
  {
    const Limit limit{RLIMIT_NOFILE, 3};
    EXPECT_EQ(write(*file, bytes, 0).done, bytes.size());
  }
  EXPECT_EQ(write(*file, bytes, bytes.size()).done, bytes.size());
  EXPECT_EQ(file->close(), 0);
  EXPECT_EQ(content(bytes.size()), bytes);
}

TEST_P(PosixStorageTest, the_size_limit_is_an_error_and_no_signal) {
  Buffer bytes = random_bytes(3 * MiB, 14);
  Io io, beyond;
  {
    const Limit limit{RLIMIT_FSIZE, 1 * MiB + 1};
    auto file = open(OpenMode::create);
    io = write(*file, bytes, 0);
    beyond = write(*file, bytes, 2 * MiB);
  }
  EXPECT_EQ(io.error, EFBIG);
  EXPECT_EQ(io.done, 1 * MiB + 1);
  EXPECT_EQ(beyond.error, EFBIG);
  EXPECT_EQ(beyond.done, 0u);
  EXPECT_EQ(code_of(EFBIG), Code::too_large);
}

TEST_P(PosixStorageTest, a_full_file_system_is_told_with_the_bytes_that_fit) {
  constexpr int not_permitted = 77, as_it_should_be = 0, otherwise = 1;
  Buffer bytes = random_bytes(3 * MiB, 15);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", directory_.c_str(), "tmpfs", 0, "size=2m") != 0) {
      _exit(not_permitted);
    }
    auto file = open(OpenMode::create);
    const Io full = write(*file, bytes, 0);
    Buffer other = random_bytes(4096, 16);
    const Io after = write(*file, other, 0);  // in a place that is there already
    const bool right = full.error == ENOSPC && full.done == 2 * MiB && after.error == 0 && file->close() == 0;
    _exit(right ? as_it_should_be : otherwise);
  }
  int outcome = 0;
  ASSERT_EQ(waitpid(child, &outcome, 0), child);
  ASSERT_TRUE(WIFEXITED(outcome));
  if (WEXITSTATUS(outcome) == not_permitted) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  EXPECT_EQ(WEXITSTATUS(outcome), as_it_should_be);
}

TEST_P(PosixStorageTest, nothing_is_allocated_once_open) {
  Buffer bytes(64 * KiB);
  auto file = open(OpenMode::create);
  Io io = io_of(Io::Kind::write, bytes, 0);
  const std::size_t before = allocations;
  for (int i = 0; i < 100; ++i) {
    file->submit(io);
    while (!io.finished) file->wait();
    file->poll();
  }
  EXPECT_EQ(allocations, before);
}

TEST_P(PosixStorageTest, traits_name_the_file_system_before_the_file_exists) {
  const StorageTraits traits = system_->traits(path("not/yet"));
  EXPECT_EQ(traits.file_system, "unknown");
  EXPECT_EQ(system_->traits(path("not_yet")).file_system, system_->traits(directory_).file_system);
  if (GetParam().parent == std::string{"/dev/shm"}) {
    EXPECT_EQ(system_->traits(path("not_yet")).file_system, "tmpfs");
    EXPECT_TRUE(system_->traits(path("not_yet")).local);
  }
  EXPECT_EQ(system_->traits(path()).kind, "posix");
  EXPECT_GE(system_->traits(path()).block, 512u);
}

TEST_P(UringStorageTest, transfers_through_a_ring_run_beside_the_caller) {
  Buffer bytes = random_bytes(1 * MiB, 17);
  Io io = io_of(Io::Kind::write, bytes, 0);
  auto file = open(OpenMode::create);
  file->submit(io);
  if (io.finished) GTEST_SKIP() << "this kernel refuses io_uring";
  file->wait();
  EXPECT_TRUE(io.finished);
  EXPECT_EQ(io.done, bytes.size());
}

TEST_P(UringStorageTest, has_no_more_than_64_transfers_under_way) {
  Buffer bytes(256 * KiB);
  std::vector<Io> ios(200, io_of(Io::Kind::write, bytes, 0));
  auto file = open(OpenMode::create);
  for (Io& io : ios) {
    file->submit(io);
    EXPECT_LE(file->poll(), 64u);
  }
  EXPECT_EQ(file->close(), 0);
  for (const Io& io : ios) EXPECT_EQ(io.done, bytes.size());
}

TEST(PosixTraits, reads_the_stripe_size_of_a_lustre_layout) {
  std::uint32_t layout[12] = {0x0BD10BD0, 1, 0, 0, 0, 0, 4 * MiB, 8};
  const auto bytes = std::as_bytes(std::span{layout});
  EXPECT_EQ(lustre_stripe(bytes), 4 * MiB);
  EXPECT_EQ(lustre_stripe(bytes.first(27)), 0u);
  layout[0] = 0x0BD30BD0;
  EXPECT_EQ(lustre_stripe(bytes), 4 * MiB);
  layout[0] = 0x0BD60BD0;
  EXPECT_EQ(lustre_stripe(bytes), 0u);
}

}  // namespace
}  // namespace weir
