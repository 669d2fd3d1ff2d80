// What every storage must do, and what each fault rule does to it.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "storage/fault_rules.hpp"
#include "storage/faulty_storage.hpp"
#include "storage/make_storage.hpp"
#include "storage/posix_storage.hpp"
#include "storage/posix_traits.hpp"
#include "storage/storage_problem.hpp"
#include "storage/transfer.hpp"

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

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

using Buffer = std::vector<std::byte>;

Buffer random_bytes(std::size_t length, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  Buffer bytes(length);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Io io_of(Io::Kind kind, Buffer& bytes, std::uint64_t offset) {
  return {.kind = kind, .data = bytes.data(), .offset = offset, .length = bytes.size()};
}

Io run(Storage& file, Io io) {
  file.submit(io);
  while (!io.finished) file.wait();
  return io;
}

Io write(Storage& file, Buffer& bytes, std::uint64_t offset) {
  return run(file, io_of(Io::Kind::write, bytes, offset));
}
Io read(Storage& file, Buffer& bytes, std::uint64_t offset) { return run(file, io_of(Io::Kind::read, bytes, offset)); }

/// A limit of the process that is put back at the end.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_{resource} {
    getrlimit(resource_, &before_);
    rlimit limit = before_;
    limit.rlim_cur = value;
    setrlimit(resource_, &limit);
  }
  ~Limit() { setrlimit(resource_, &before_); }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

struct Case {
  const char* name;
  const char* kind;
  const char* async;
  const char* parent;  // of the test's directory; none where paths are only names
};

constexpr Case posix_cases[] = {
    {"posix_plain_on_tmp", "posix", "plain", "/tmp"},
    {"posix_plain_on_shm", "posix", "plain", "/dev/shm"},
    {"posix_uring_on_tmp", "posix", "uring", "/tmp"},
    {"posix_uring_on_shm", "posix", "uring", "/dev/shm"},
};
constexpr Case memory_case{"memory", "memory", "auto", nullptr};
constexpr Case null_case{"null", "null", "auto", nullptr};

void PrintTo(const Case& storage, std::ostream* out) { *out << storage.name; }
std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class StorageTest : public testing::TestWithParam<Case> {
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
/// Storages on file systems.
class PosixStorageTest : public StorageTest {};
/// Of those, the ones that move beside the caller.
class UringStorageTest : public StorageTest {};

INSTANTIATE_TEST_SUITE_P(Every, StorageTest,
                         testing::Values(posix_cases[0], posix_cases[1], posix_cases[2], posix_cases[3], memory_case,
                                         null_case),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Every, KeepingStorageTest,
                         testing::Values(posix_cases[0], posix_cases[1], posix_cases[2], posix_cases[3], memory_case),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Every, PosixStorageTest, testing::ValuesIn(posix_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Every, UringStorageTest, testing::Values(posix_cases[2], posix_cases[3]), name_of);

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

/// Memory that may be as large as wanted, as long as nobody looks at it.
class Nowhere {
 public:
  explicit Nowhere(std::size_t length)
      : length_{length}, start_{mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)} {}
  ~Nowhere() { munmap(start_, length_); }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(start_); }

 private:
  std::size_t length_;
  void* start_;
};

class CountingHook final : public TransferHook {
 public:
  int before(Io::Kind, std::uint64_t& length) noexcept override {
    ++calls;
    longest = std::max(longest, length);
    return 0;
  }
  std::uint64_t calls = 0, longest = 0;
};

TEST(LargeTransfer, goes_in_calls_of_a_gibibyte) {
  const Nowhere memory{3 * GiB};
  for (const auto& [kind, async] : {std::pair{"null", "auto"}, {"posix", "plain"}, {"posix", "auto"}}) {
    SCOPED_TRACE(std::string{kind} + " " + async);
    auto system = make_storage_system(kind, async).value();
    auto hook = std::make_shared<CountingHook>();
    ASSERT_TRUE(system->set_transfer_hook(hook));
    auto file = system->open("/dev/null", OpenMode::create).value();
    const Io io = run(*file, {.data = memory.data(), .offset = 1, .length = 3 * GiB});
    EXPECT_EQ(io.error, 0);
    EXPECT_EQ(io.done, 3 * GiB);
    EXPECT_EQ(hook->calls, 3u);
    EXPECT_EQ(hook->longest, GiB);
  }
}

TEST(NullStorage, reads_zeros_without_end) {
  auto file = make_storage_system("null").value()->open("any", OpenMode::read).value();
  Buffer bytes = random_bytes(1000, 18);
  EXPECT_EQ(read(*file, bytes, 1 * GiB).done, 1000u);
  EXPECT_EQ(bytes, Buffer(1000));
}

TEST(Transfer, a_write_without_progress_is_an_error_and_a_read_without_progress_the_end) {
  Buffer bytes(10);
  Io io = io_of(Io::Kind::write, bytes, 0);
  transfer(io, nullptr, [](std::byte*, std::uint64_t, std::uint64_t) { return std::int64_t{0}; });
  EXPECT_EQ(io.error, EIO);
  io.kind = Io::Kind::read;
  transfer(io, nullptr, [](std::byte*, std::uint64_t, std::uint64_t) { return std::int64_t{0}; });
  EXPECT_EQ(io.error, 0);
  EXPECT_TRUE(io.finished);
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

class FaultyStorageTest : public KeepingStorageTest {};
INSTANTIATE_TEST_SUITE_P(Every, FaultyStorageTest,
                         testing::Values(posix_cases[0], posix_cases[1], posix_cases[2], posix_cases[3], memory_case),
                         name_of);

TEST_P(FaultyStorageTest, short_writes_and_reads_are_continued) {
  auto& faulty = with_faults("op=write short=1000; op=read short=777");
  Buffer bytes = random_bytes(10000, 20);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 3).done, bytes.size());
  EXPECT_EQ(faulty.fired(), 9u);  // the tenth call has 1000 bytes left: not shorter
  EXPECT_EQ(content(bytes.size(), 3), bytes);
  EXPECT_EQ(faulty.fired(), 9u + 12u);
}

TEST_P(FaultyStorageTest, interruptions_are_invisible) {
  auto& faulty = with_faults("op=write error=EINTR times=5; op=read error=EINTR times=3");
  Buffer bytes = random_bytes(10000, 21);
  const Io io = write(*open(OpenMode::create), bytes, 0);
  EXPECT_EQ(io.error, 0);
  EXPECT_EQ(content(bytes.size()), bytes);
  EXPECT_EQ(faulty.fired(), 8u);
}

TEST_P(FaultyStorageTest, a_write_without_progress_is_an_error) {
  with_faults("op=write short=0");
  Buffer bytes(100);
  const Io io = write(*open(OpenMode::create), bytes, 0);
  EXPECT_EQ(io.error, EIO);
  EXPECT_EQ(io.done, 0u);
}

TEST_P(FaultyStorageTest, an_error_after_a_short_write_tells_the_bytes_that_went) {
  with_faults("op=write short=1000 times=1; op=write error=ENOSPC after=1 times=1");
  Buffer bytes = random_bytes(4096, 22);
  auto file = open(OpenMode::create);
  const Io io = write(*file, bytes, 0);
  EXPECT_EQ(io.error, ENOSPC);
  EXPECT_EQ(io.done, 1000u);
  EXPECT_EQ(file->size(), 1000);
  EXPECT_EQ(write(*file, bytes, 0).error, 0);
}

TEST_P(FaultyStorageTest, after_lets_calls_through_and_times_ends_it) {
  auto& faulty = with_faults("op=write error=EDQUOT after=3 times=2");
  Buffer bytes(10);
  auto file = open(OpenMode::create);
  std::vector<int> errors;
  for (int i = 0; i < 7; ++i) errors.push_back(write(*file, bytes, 0).error);
  EXPECT_EQ(errors, (std::vector{0, 0, 0, EDQUOT, EDQUOT, 0, 0}));
  EXPECT_EQ(faulty.fired(), 2u);
}

TEST_P(FaultyStorageTest, without_times_it_lasts_for_ever) {
  with_faults("op=read error=EIO");
  Buffer bytes(10);
  open(OpenMode::create)->close();
  auto file = open(OpenMode::read);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read(*file, bytes, 0).error, EIO);
}

TEST_P(FaultyStorageTest, a_rule_for_another_rank_does_nothing) {
  Buffer bytes(10);
  EXPECT_EQ(with_faults("op=write error=EIO rank=2", 1).fired(), 0u);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).error, 0);
  with_faults("op=write error=EIO rank=2", 2);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).error, EIO);
}

TEST_P(FaultyStorageTest, a_flipped_write_changes_one_bit_of_the_file_and_none_of_the_memory) {
  auto& faulty = with_faults("op=write flip times=1");
  const Buffer original = random_bytes(9999, 23);
  Buffer bytes = original;
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).done, bytes.size());
  EXPECT_EQ(bytes, original);
  const Buffer back = content(bytes.size());
  int bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) bits += std::popcount(std::to_integer<unsigned>(bytes[i] ^ back[i]));
  EXPECT_EQ(bits, 1);
  EXPECT_EQ(faulty.fired(), 1u);
}

TEST_P(FaultyStorageTest, a_flipped_read_leaves_the_file_as_it_is) {
  auto& faulty = with_faults("op=read flip times=1");
  Buffer bytes = random_bytes(100, 24);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).error, 0);
  EXPECT_NE(content(100), bytes);
  EXPECT_EQ(content(100), bytes);
  EXPECT_EQ(faulty.fired(), 1u);
}

TEST_P(FaultyStorageTest, the_other_operations_fail_once_each) {
  auto& faulty = with_faults(
      "op=open error=EMFILE times=1; op=sync error=EIO times=1; op=close error=ENOSPC times=1;"
      "op=rename error=EACCES times=1; op=remove error=EROFS times=1; op=syncdir error=EIO times=1;");
  EXPECT_EQ(system_->open(path(), OpenMode::create).status().code(), Code::too_many_files);
  auto file = open(OpenMode::create);
  EXPECT_EQ(file->sync(), EIO);
  EXPECT_EQ(file->sync(), 0);
  EXPECT_EQ(file->close(), ENOSPC);
  EXPECT_EQ(file->close(), EBADF);
  EXPECT_EQ(system_->rename(path(), path("b")).code(), Code::access);
  EXPECT_TRUE(system_->rename(path(), path("b")).ok());
  EXPECT_EQ(system_->sync_directory(path("b")).code(), Code::io);
  EXPECT_TRUE(system_->sync_directory(path("b")).ok());
  EXPECT_EQ(system_->remove(path("b")).code(), Code::read_only);
  EXPECT_TRUE(system_->remove(path("b")).ok());
  EXPECT_EQ(faulty.fired(), 6u);
}

TEST_P(FaultyStorageTest, endless_refusal_to_start_becomes_an_error) {
  with_faults("op=write error=EAGAIN");
  Buffer bytes(10);
  EXPECT_EQ(write(*open(OpenMode::create), bytes, 0).error, EAGAIN);
}

TEST(FaultRules, a_malformed_rule_names_the_bad_word_and_the_allowed_ones) {
  struct Bad {
    const char *rule, *word, *allowed;
  };
  for (const auto& [rule, word, allowed] : {
           Bad{"op=wrote error=EIO", "'op=wrote'", "open, write, read, sync, close, rename, remove, syncdir"},
           Bad{"op=write error=ENOSPACE", "'error=ENOSPACE'", "ENOSPC"},
           Bad{"op=write error=EIO afterwards=3", "'afterwards=3'", "after=<calls>"},
           Bad{"op=write error=EIO after=x", "'after=x'", "0, 1, 2"},
           Bad{"op=write error=EIO times=-1", "'times=-1'", "0, 1, 2"},
           Bad{"op=write error=EIO rank=", "'rank='", "0, 1, 2"},
           Bad{"error=EIO", "'op='", "op=open|write"},
           Bad{"op=write", "error=, short= or flip", "short=<bytes>"},
           Bad{"op=write error=EIO flip", "error=, short= or flip", "short=<bytes>"},
           Bad{"op=sync flip", "'flip'", "op=write and op=read"},
           Bad{"op=close short=3", "'short='", "op=write and op=read"},
           Bad{"op=read error=EINTR", "'error=EINTR'", "times=<count>"},
           Bad{"op=read error=EIO; rubbish", "'rubbish'", "op=open|write"},
       }) {
    const Status status = FaultRules::parse(rule, 0).status();
    EXPECT_EQ(status.code(), Code::settings) << rule;
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(allowed), std::string::npos) << status.message();
  }
}

TEST(FaultRules, no_rule_is_no_fault) { EXPECT_FALSE(FaultRules::parse(" ; ", 0).value()->meets_transfers()); }

TEST(MakeStorage, an_unknown_name_lists_the_known_ones) {
  const Status kind = make_storage_system("posics").status();
  EXPECT_EQ(kind.code(), Code::settings);
  EXPECT_NE(kind.message().find("posix, null, memory"), std::string::npos) << kind.message();
  const Status async = make_storage_system("posix", "threads").status();
  EXPECT_EQ(async.code(), Code::settings);
  EXPECT_NE(async.message().find("auto, plain, uring"), std::string::npos) << async.message();
  EXPECT_EQ(make_storage_system("posix", "auto", "op=nonsense").status().code(), Code::settings);
}

TEST(MakeStorage, uring_is_refused_by_name_when_it_was_built_out) {
  const Status status = make_storage_system("posix", "uring").status();
  EXPECT_EQ(status.code(), built_with_uring() ? Code::ok : Code::unsupported) << status.message();
}

TEST(MakeStorage, says_what_each_kind_is) {
  for (const char* kind : {"posix", "null", "memory"}) {
    EXPECT_EQ(make_storage_system(kind).value()->traits("/tmp/file").kind, kind);
  }
  EXPECT_FALSE(make_storage_system("memory").value()->traits("x").shared);
}

TEST(Errors, the_codes_that_users_can_act_upon_are_told_apart) {
  for (const auto& [error, code] : {
           std::pair{0, Code::ok},
           {ENOSPC, Code::no_space},
           {EDQUOT, Code::quota},
           {EFBIG, Code::too_large},
           {EROFS, Code::read_only},
           {EACCES, Code::access},
           {ENOENT, Code::not_found},
           {EISDIR, Code::exists},
           {EMFILE, Code::too_many_files},
           {ENOMEM, Code::no_memory},
           {EINVAL, Code::invalid},
           {ENOSYS, Code::unsupported},
           {EIO, Code::io},
           {99999, Code::io},
       }) {
    EXPECT_EQ(code_of(error), code) << error;
  }
  EXPECT_STREQ(reason_of(99999), "unknown error");
}

TEST(Errors, a_message_has_action_object_reason_and_remedy) {
  EXPECT_EQ(storage_problem(ENOSPC, "write", "a/b.dat", " after 3 bytes").message(),
            "weir: cannot write 'a/b.dat' after 3 bytes: No space left on device\n"
            "      free space or inodes, or choose a path on another file system");
  EXPECT_EQ(directory_of("a/b"), "a");
  EXPECT_EQ(directory_of("/b"), "/");
  EXPECT_EQ(directory_of("b"), ".");
}

}  // namespace
}  // namespace weir
