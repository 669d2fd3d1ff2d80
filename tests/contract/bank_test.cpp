// What every bank must do.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>

#include "memory/bank_speed.hpp"
#include "memory/dram_bank.hpp"
#include "memory/make_bank.hpp"
#include "memory/numa_bank.hpp"
#include "remote/server_bank.hpp"
#include "remote/server_process.hpp"
#include "remote/ucx_lender.hpp"

namespace weir {
namespace {

using testing::mib;

struct BankCase {
  const char* name;
  const char* kind;
  const char* path;
  bool hbm_on_node_0;  // as if that were high-bandwidth memory
  int servers = 0;     // of memory
  const char* transport = "";
};

constexpr BankCase cases[] = {{"dram", "dram", "", false},
                              {"hbm_emulated", "hbm", "", false},
                              {"hbm_bound", "hbm", "", true},
                              {"nvme_emulated", "nvme", "", false},
                              {"mapped_on_tmp", "ssd", "/tmp", false},
                              {"mapped_on_shm", "dram", "/dev/shm", false},
                              {"server_mapped", "remote", "", false, 1, "mapped"},
                              {"server_ucx", "remote", "", false, 1, "ucx"},
                              {"server_socket", "remote", "", false, 1, "socket"},
                              {"three_servers_mapped", "remote", "", false, 3, "mapped"},
                              {"three_servers_ucx", "remote", "", false, 3, "ucx"},
                              {"three_servers_socket", "remote", "", false, 3, "socket"}};

void PrintTo(const BankCase& bank, std::ostream* out) { *out << bank.name; }

Bank described(const BankCase& bank, std::uint64_t capacity) {
  Bank made;
  made.name = bank.name;
  made.kind = bank.kind;
  made.path = bank.path;
  made.capacity = {static_cast<double>(capacity), Origin::configured, ""};
  return made;
}

std::vector<NumaFacts> numa_for(const BankCase& bank) {
  if (!bank.hbm_on_node_0) return {};
  return {{0, "hbm", {}, {}, {}, {}}};
}

/// The exit code of a child that does this; below 0 the signal that ended it.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class BankTest : public ::testing::TestWithParam<BankCase> {
 protected:
  void SetUp() override {
    if (GetParam().transport == std::string_view{"ucx"} && !UcxLender::is_built_in()) GTEST_SKIP() << "built without UCX";
    if (GetParam().servers > 0) return start_servers();
    auto made = make_bank(described(GetParam(), 8 * mib), numa_for(GetParam()));
    ASSERT_TRUE(made.ok()) << made.status().message();
    bank_ = std::move(*made);
    if (GetParam().hbm_on_node_0 && bank_->attributes().emulated) GTEST_SKIP() << bank_->attributes().reason;
  }
  void start_servers() {
    for (int s = 0; s < GetParam().servers; ++s) {
      servers_.push_back(std::make_unique<testing::ServerProcess>(MemoryServerOptions{.size = 32 * mib}));
      options_.contact += (s == 0 ? "" : ",") + servers_.back()->contact();
    }
    options_.transport = GetParam().transport;
    options_.stripe = 64 << 10;
    auto made = make_server_bank(described(GetParam(), 8 * mib), options_);
    ASSERT_TRUE(made.ok()) << made.status().message();
    bank_ = std::move(*made);
  }
  [[nodiscard]] Code beyond_capacity() const { return *GetParam().path ? Code::no_space : Code::no_memory; }

  std::vector<std::unique_ptr<testing::ServerProcess>> servers_;
  RemoteOptions options_;
  std::unique_ptr<MemoryBank> bank_;
};

/// All of it, through get.
std::vector<std::byte> contents(const Allocation& memory) {
  std::vector<std::byte> bytes(memory.size(), std::byte{0xee});
  EXPECT_EQ(memory.get(0, bytes.data(), bytes.size()).message(), "");
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(Every, BankTest, ::testing::ValuesIn(cases),
                         [](const ::testing::TestParamInfo<BankCase>& info) { return info.param.name; });

TEST_P(BankTest, says_what_it_is_and_whether_it_is_emulated) {
  const BankAttributes& attributes = bank_->attributes();
  EXPECT_EQ(attributes.name, GetParam().name);
  EXPECT_EQ(attributes.kind, GetParam().kind);
  EXPECT_EQ(attributes.capacity, 8 * mib);
  EXPECT_EQ(attributes.emulated, std::string_view{GetParam().name}.ends_with("_emulated"));
  EXPECT_EQ(attributes.reason.empty(), !attributes.emulated);
}

TEST_P(BankTest, holds_what_is_put_and_is_zero_before) {
  auto memory = bank_->allocate(3 * mib + 5);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  ASSERT_GE(memory->size(), 3 * mib + 5);
  std::vector<std::byte> expected(memory->size());
  EXPECT_TRUE(contents(*memory) == expected);
  for (std::uint64_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::byte>(i * 7 >> 3);
  // Odd places and lengths, the last first, and what is written twice.
  constexpr std::uint64_t piece = 99'991;
  for (std::uint64_t end = expected.size(); end > 0; end -= std::min(end, piece)) {
    const std::uint64_t from = end > piece + 17 ? end - piece - 17 : 0;
    EXPECT_EQ(memory->put(from, expected.data() + from, end - from).message(), "");
  }
  EXPECT_EQ(memory->flush().message(), "");
  EXPECT_TRUE(contents(*memory) == expected);
  std::vector<std::byte> part(200'001);
  EXPECT_EQ(memory->get(65'535, part.data(), part.size()).message(), "");
  EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 65'535));
  if (memory->data()) {
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory->data()));
  }
}

TEST_P(BankTest, refuses_what_is_outside) {
  auto memory = bank_->allocate(4096);
  ASSERT_TRUE(memory.ok());
  std::byte byte{};
  EXPECT_EQ(memory->put(4096, &byte, 1).code(), Code::invalid);
  EXPECT_EQ(memory->get(4096, &byte, 1).code(), Code::invalid);
  EXPECT_EQ(memory->get(~std::uint64_t{0}, &byte, 2).code(), Code::invalid);
  EXPECT_TRUE(memory->put(4096, &byte, 0).ok());
}

TEST_P(BankTest, can_be_measured) {
  auto speed = measure_bank(*bank_, 2 * mib, 0.003);
  ASSERT_TRUE(speed.ok()) << speed.status().message();
  for (const auto* samples : {&speed->latency, &speed->read, &speed->write}) {
    ASSERT_FALSE(samples->empty());
    EXPECT_GT(samples->front(), 0);
  }
}

TEST_P(BankTest, refuses_what_is_beyond_its_capacity_and_says_how_much_is_in_use) {
  auto memory = bank_->allocate(5 * mib);
  ASSERT_TRUE(memory.ok());
  const auto refused = bank_->allocate(4 * mib);
  EXPECT_EQ(refused.status().code(), beyond_capacity());
  EXPECT_NE(refused.status().message().find("4 MiB in bank '" + std::string{GetParam().name} + "': 5 MiB of 8 MiB"),
            std::string::npos) << refused.status().message();
  EXPECT_TRUE(bank_->allocate(3 * mib).ok());
  EXPECT_EQ(bank_->allocate(~std::uint64_t{0}).status().code(), Code::invalid);
  EXPECT_EQ(bank_->allocate(0).status().code(), Code::invalid);
  EXPECT_EQ(bank_->used(), 5 * mib);
}

TEST_P(BankTest, has_its_capacity_back_when_memory_is_released) {
  for (int round = 0; round < 5; ++round) {
    auto memory = bank_->allocate(8 * mib);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    EXPECT_EQ(bank_->used(), 8 * mib);
    Allocation moved = std::move(*memory);
    EXPECT_EQ(bank_->used(), 8 * mib);
    moved = Allocation{};
    EXPECT_EQ(bank_->used(), 0u);
  }
}

TEST_P(BankTest, counts_whole_pages) {
  auto memory = bank_->allocate(1);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(bank_->used(), memory->size());
  EXPECT_EQ(memory->size() % 4096, 0u);
}

TEST_P(BankTest, memory_may_outlive_its_bank) {
  auto memory = bank_->allocate(mib);
  ASSERT_TRUE(memory.ok());
  bank_.reset();
  const std::vector<std::byte> ones(memory->size(), std::byte{1});
  EXPECT_TRUE(memory->put(0, ones.data(), ones.size()).ok());
  EXPECT_TRUE(memory->flush().ok());
  EXPECT_TRUE(contents(*memory) == ones);
}

TEST_P(BankTest, another_process_of_the_node_can_map_what_has_an_address) {
  auto memory = bank_->allocate(2 * mib);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(memory->data() == nullptr, GetParam().servers > 0);
  if (!memory->data()) return;
  memory->data()[mib] = std::byte{42};
  const SharedSegment::Address address = memory->address();
  const int code = in_child([&] {
    auto seen = SharedSegment::map(address);
    if (!seen) return 1;
    if (seen->data() == memory->data() || seen->data()[mib] != std::byte{42}) return 2;
    seen->data()[mib + 1] = std::byte{43};
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(memory->data()[mib + 1], std::byte{43});
}

TEST_P(BankTest, leaves_no_descriptor_and_no_file_behind) {
  const auto count = [](const char* path) {
    return std::distance(std::filesystem::directory_iterator{path}, std::filesystem::directory_iterator{});
  };
  if (GetParam().servers > 0) (void)bank_->allocate(mib);  // connects
  const auto before = count("/proc/self/fd");
  {
    auto memory = bank_->allocate(mib);
    ASSERT_TRUE(memory.ok());
    for (const auto& entry : std::filesystem::directory_iterator{*GetParam().path ? GetParam().path : "/dev/shm"})
      EXPECT_EQ(entry.path().filename().string().find("weir-bank"), std::string::npos) << entry.path();
  }
  (void)bank_->allocate(9 * mib);
  EXPECT_EQ(count("/proc/self/fd"), before);
}

// What is asked for here is small, so that nothing happens to the machine even when a bank would give it.
TEST(Bank, refuses_more_memory_than_is_available_instead_of_having_processes_ended) {
  DramBank bank{BankAttributes::of(described(cases[0], 0)), [] { return std::uint64_t{4 * mib}; }};
  const auto refused = bank.allocate(8 * mib);
  EXPECT_EQ(refused.status().code(), Code::no_memory);
  EXPECT_NE(refused.status().message().find("4 MiB are available"), std::string::npos) << refused.status().message();
  EXPECT_EQ(bank.used(), 0u);
  EXPECT_TRUE(bank.allocate(4 * mib).ok());
}

TEST(Bank, knows_how_much_memory_is_available) {
  EXPECT_GT(available_memory(), 0u);
  EXPECT_LT(available_memory(), static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * 4096);
}

TEST(Bank, in_a_directory_that_is_missing_is_refused) {
  const auto made = make_bank(described({"gone", "ssd", "/does/not/exist", false}, mib), {});
  EXPECT_EQ(made.status().code(), Code::not_found);
  EXPECT_NE(made.status().message().find("/does/not/exist"), std::string::npos);
}

TEST_P(BankTest, of_servers_that_are_gone_is_an_error) {
  if (servers_.empty()) return;
  auto memory = bank_->allocate(mib);
  ASSERT_TRUE(memory.ok());
  servers_.back()->process().end(SIGKILL);
  const std::vector<std::byte> bytes(memory->size());
  (void)memory->put(0, bytes.data(), bytes.size());
  EXPECT_EQ(memory->flush().code(), Code::io);
  EXPECT_FALSE(bank_->allocate(mib).ok());
  EXPECT_EQ(bank_->used(), mib);
}

TEST(Bank, of_servers_has_their_capacity_unless_it_is_described) {
  testing::ServerProcess one{{.size = 16 * mib}}, other{{.size = 32 * mib, .quota = 8 * mib}};
  RemoteOptions options;
  options.contact = one.contact() + "," + other.contact();
  auto bank = make_server_bank(described({"far", "remote", "", false}, 0), options);
  ASSERT_TRUE(bank.ok()) << bank.status().message();
  EXPECT_EQ((*bank)->attributes().capacity, 24 * mib);
}

TEST(Bank, of_other_nodes_is_refused) {
  EXPECT_EQ(make_bank(described({"far", "remote", "", false}, mib), {}).status().code(), Code::unsupported);
}

TEST(Bank, binds_to_numa_nodes_that_exist_only) {
  auto made = make_bank(described(cases[2], mib), {{1000, "hbm", {}, {}, {}, {}}});
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE((*made)->attributes().emulated);
  EXPECT_NE((*made)->attributes().reason.find("NUMA"), std::string::npos) << (*made)->attributes().reason;
}

// High-bandwidth memory of a machine with several NUMA nodes, which this one need not be.
TEST(Bank, binds_all_of_its_memory_to_the_nodes_that_have_it_and_takes_only_what_is_free_there) {
  static std::vector<std::pair<std::uint64_t, std::vector<int>>> bound;
  bound.clear();
  const NumaBank::System system{[](void*, std::uint64_t size, const std::vector<int>& nodes) {
                                  bound.emplace_back(size, nodes);
                                  return 0;
                                },
                                [](int node) { return node == 1   ? 2 * mib
                                                      : node == 3 ? mib
                                                                  : 0; }};
  auto made = NumaBank::make(BankAttributes::of(described(cases[2], 64 * mib)), {1, 3}, system);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE((*made)->attributes().emulated);
  EXPECT_TRUE((*made)->allocate(3 * mib).ok());
  ASSERT_EQ(bound.size(), 2u);
  EXPECT_EQ(bound.back(), (std::pair{3 * mib, std::vector<int>{1, 3}}));
  const auto refused = (*made)->allocate(4 * mib);
  EXPECT_EQ(refused.status().code(), Code::no_memory);
  EXPECT_NE(refused.status().message().find("3 MiB are free on its NUMA nodes"), std::string::npos);
  EXPECT_EQ(node_mask({1, 3}), std::vector<unsigned long>{0b1010});
  EXPECT_EQ(node_mask({64, 0}), (std::vector<unsigned long>{1, 1}));
}

TEST(Bank, processes_that_share_an_account_share_its_capacity) {
  BankAccount node;
  auto first = make_bank(described(cases[1], 8 * mib), {}), second = make_bank(described(cases[1], 8 * mib), {});
  ASSERT_TRUE(first.ok() && second.ok());
  (*first)->share(node);
  (*second)->share(node);
  auto taken = (*first)->allocate(6 * mib);
  ASSERT_TRUE(taken.ok());
  const auto refused = (*second)->allocate(4 * mib);
  EXPECT_EQ(refused.status().code(), Code::no_memory);
  EXPECT_NE(refused.status().message().find("6 MiB of 8 MiB are in use"), std::string::npos)
      << refused.status().message();
  *taken = {};
  EXPECT_TRUE((*second)->allocate(4 * mib).ok());
  EXPECT_EQ(node.used.load(), 0u);
}

/// What a child does in which `path` is a new tmpfs of this size that nobody else sees; nothing where that is not
/// possible.
std::optional<int> with_small_tmpfs(const char* path, const char* options, const std::function<int()>& work) {
  constexpr int not_possible = 99;
  const int code = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("weir-test", path, "tmpfs", 0, options) != 0)
      return not_possible;
    return work();
  });
  if (code == not_possible) return {};
  return code;
}

TEST(Bank, a_full_file_system_is_an_error_and_never_a_signal) {
  const auto code = with_small_tmpfs("/tmp", "size=8m", [] {
    auto bank = make_bank(described({"small", "nvme", "/tmp", false}, 64 * mib), {});
    if (!bank) return 1;
    if ((*bank)->allocate(16 * mib).status().code() != Code::no_space) return 2;
    auto first = (*bank)->allocate(5 * mib);
    if (!first) return 3;
    std::memset(first->data(), 1, first->size());
    if ((*bank)->allocate(5 * mib).status().code() != Code::no_space) return 4;
    if ((*bank)->used() != 5 * mib) return 5;
    first = Allocation{};
    auto again = (*bank)->allocate(7 * mib);
    if (!again) return 6;
    std::memset(again->data(), 2, again->size());
    return 0;
  });
  if (!code) GTEST_SKIP() << "needs root and mounts of its own";
  EXPECT_EQ(*code, 0);
}

TEST(Bank, a_small_dev_shm_does_not_limit_ordinary_memory) {
  const auto code = with_small_tmpfs("/dev/shm", "size=1m", [] {
    auto bank = make_bank(described(cases[0], 64 * mib), {});
    auto memory = (*bank)->allocate(4 * mib);
    if (!memory) return 1;
    std::memset(memory->data(), 1, memory->size());
    return 0;
  });
  if (!code) GTEST_SKIP() << "needs root and mounts of its own";
  EXPECT_EQ(*code, 0);
}

}  // namespace
}  // namespace weir
