// How one transfer becomes calls of the system.

#include "storage/transfer.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "contract/storage_cases.hpp"

namespace weir {
namespace {

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

}  // namespace
}  // namespace weir
