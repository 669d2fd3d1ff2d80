#include "remote/remote_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "remote/server_process.hpp"
#include "remote/ucx_lender.hpp"

using namespace weir;
using namespace weir::testing;

namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + seed);
  return data;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = Deadline::Clock::now();
  work();
  return std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
}

class Transport : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string{"ucx"} && !UcxLender::is_built_in()) GTEST_SKIP() << "built without UCX";
  }
  static std::unique_ptr<RemoteMemory> connect(const ServerProcess& server, double timeout_s = 5) {
    return server.connect(timeout_s, GetParam());
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Remote, Transport, ::testing::Values("mapped", "ucx", "socket"),
                         [](const auto& info) { return std::string{info.param}; });

TEST_P(Transport, what_one_client_puts_another_gets) {
  ServerProcess server{{.size = 64 * mib}};
  auto writer = connect(server), reader = connect(server);
  ASSERT_TRUE(writer && reader);
  EXPECT_EQ(reader->attach(named(1)).status().code(), Code::not_found);
  auto region = writer->allocate(named(1), 3 * mib + 5).value();
  EXPECT_EQ(region->size(), 3 * mib + 5);
  const auto data = pattern(2 * mib, 7);
  ASSERT_TRUE(region->put(mib + 5, data.data(), data.size()).ok());
  ASSERT_TRUE(writer->flush().ok());
  auto view = reader->attach(named(1)).value();
  EXPECT_EQ(view->size(), region->size());
  std::vector<std::byte> got(data.size());
  ASSERT_TRUE(view->get(mib + 5, got.data(), got.size()).ok());
  while (reader->progress() > 0) {
  }
  EXPECT_EQ(got, data);
  EXPECT_EQ(region->put(3 * mib + 5, data.data(), 1).code(), Code::invalid);
  EXPECT_EQ(region->put(~0ULL, data.data(), 2).code(), Code::invalid);
  EXPECT_TRUE(region->put(3 * mib + 5, data.data(), 0).ok());
  EXPECT_EQ(writer->allocate(named(1), mib).status().code(), Code::exists);
  region.reset();
  EXPECT_EQ(reader->attach(named(1)).status().code(), Code::not_found);
  EXPECT_TRUE(writer->allocate(named(1), mib).ok());
  EXPECT_TRUE(writer->failure().ok());
  EXPECT_EQ(server.process().end(SIGTERM), 0);
}

TEST_P(Transport, many_small_pieces_arrive_in_place) {
  ServerProcess server{{.size = 64 * mib}};
  auto memory = connect(server);
  ASSERT_TRUE(memory);
  auto region = memory->allocate(named(1), 2 * mib).value();
  const auto data = pattern(2 * mib, 3);
  constexpr std::size_t piece = 4096;
  for (std::size_t at = 0; at < data.size(); at += piece)
    ASSERT_TRUE(region->put(data.size() - piece - at, data.data() + data.size() - piece - at, piece).ok());
  ASSERT_TRUE(memory->flush().ok());
  std::vector<std::byte> got(data.size());
  for (std::size_t at = 0; at < data.size(); at += piece) ASSERT_TRUE(region->get(at, got.data() + at, piece).ok());
  while (memory->progress() > 0) {
  }
  EXPECT_EQ(got, data);
}

TEST_P(Transport, a_server_that_is_killed_is_noticed) {
  ServerProcess server{{.size = 64 * mib}};
  auto memory = connect(server);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->failure().ok());
  auto region = memory->allocate(named(1), 8 * mib).value();
  const auto data = pattern(8 * mib, 1);
  ASSERT_TRUE(region->put(0, data.data(), data.size()).ok());
  server.process().end(SIGKILL);
  const double seconds = seconds_of([&] { EXPECT_EQ(memory->flush().code(), Code::io); });
  EXPECT_LT(seconds, 7);
  EXPECT_EQ(memory->progress(), 0U);
  EXPECT_FALSE(memory->failure().ok());
  EXPECT_FALSE(memory->allocate(named(2), mib).ok());
}

TEST_P(Transport, a_server_that_stops_is_given_up_in_time) {
  ServerProcess server{{.size = 64 * mib}};
  auto memory = connect(server, 0.4);
  ASSERT_TRUE(memory);
  auto region = memory->allocate(named(1), 8 * mib).value();
  const auto data = pattern(8 * mib, 1);
  server.process().signal(SIGSTOP);
  ASSERT_TRUE(region->put(0, data.data(), data.size()).ok());
  const double seconds = seconds_of([&] {
    while (memory->failure().ok()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  });
  EXPECT_LT(seconds, 3);
  EXPECT_EQ(memory->progress(), 0U);
  EXPECT_LT(seconds_of([&] { EXPECT_FALSE(memory->allocate(named(2), mib).ok()); }), 1);
  RemoteOptions options;
  options.contact = server.contact();
  options.timeout_s = 0.2;
  EXPECT_FALSE(connect_remote_memory(options).ok());
}

TEST_P(Transport, a_server_whose_clients_are_idle_sleeps) {
  ServerProcess server{{.size = 64 * mib}};
  auto memory = connect(server);
  ASSERT_TRUE(memory);
  auto region = memory->allocate(named(1), mib).value();
  const auto data = pattern(mib, 1);
  ASSERT_TRUE(region->put(0, data.data(), data.size()).ok() && memory->flush().ok());
  const auto used_s = [&] {
    double sum_s = processor_seconds(server.process().pid());
    for (const pid_t pid : children_of(server.process().pid())) sum_s += processor_seconds(pid);
    return sum_s;
  };
  const double before_s = used_s();
  std::this_thread::sleep_for(std::chrono::milliseconds{500});
  EXPECT_LT(used_s() - before_s, 0.1);
}

TEST_P(Transport, what_a_killed_client_had_is_given_back) {
  ServerProcess server{{.size = 64 * mib}};
  auto witness = connect(server);
  ASSERT_TRUE(witness);
  (void)witness->allocate(named(99), mib).value();  // what the server keeps once it has served anyone is there now
  ASSERT_TRUE(soon([&] { return server.report().used == 0; }));
  const std::size_t base = server.quiet_descriptors();
  for (int i = 0; i < 5; ++i) {
    Child client{[&] {
      auto memory = connect(server);
      auto region = memory->allocate(named(1), 32 * mib).value();
      std::vector<std::byte> data(32 * mib);
      (void)region->put(0, data.data(), data.size());
      ::raise(SIGKILL);
      return 0;
    }};
    EXPECT_EQ(client.wait(), 128 + SIGKILL);
    ASSERT_TRUE(soon([&] { return server.report().used == 0; }));
  }
  EXPECT_TRUE(soon([&] { return server.descriptors() == base; })) << server.descriptors() << " not " << base;
}

TEST(RemoteMemory, a_process_that_ucx_ends_takes_only_its_own_client_along) {
  if (!UcxLender::is_built_in()) GTEST_SKIP() << "built without UCX";
  ServerProcess server{{.size = 64 * mib}};
  const auto processes = [&] { return children_of(server.process().pid()); };
  auto witness = server.connect(5, "ucx");
  auto kept = witness->allocate(named(1), mib).value();
  const auto data = pattern(mib, 1);
  ASSERT_TRUE(kept->put(0, data.data(), data.size()).ok() && witness->flush().ok());
  const std::vector<pid_t> before = processes();
  ASSERT_EQ(before.size(), 1U);
  auto victim = server.connect(5, "ucx");
  auto shared = victim->attach(named(1)).value();
  auto lost = victim->allocate(named(2), mib).value();
  ASSERT_TRUE(lost->put(0, data.data(), data.size()).ok() && victim->flush().ok());
  for (const pid_t pid : processes())
    if (pid != before.front()) ::kill(pid, SIGABRT);
  EXPECT_TRUE(soon([&] { return !victim->failure().ok(); }));
  EXPECT_TRUE(soon([&] { return server.report().used == mib; }));
  EXPECT_EQ(processes(), before);
  std::vector<std::byte> got(data.size());
  ASSERT_TRUE(kept->get(0, got.data(), got.size()).ok() && witness->flush().ok());
  EXPECT_EQ(got, data);
  EXPECT_TRUE(witness->allocate(named(2), mib).ok());
}

TEST(RemoteMemory, over_tcp_goes_through_sockets_or_ucx) {
  ScratchDirectory directory;
  const std::string secret = directory / "secret";
  ServerProcess server{{.size = 8 * mib, .listen = "tcp:127.0.0.1:0", .secret = secret}};
  RemoteOptions options;
  options.contact = server.contact();
  EXPECT_EQ(connect_remote_memory(options).status().code(), Code::access);
  options.secret = secret;
  options.transport = "mapped";
  EXPECT_EQ(connect_remote_memory(options).status().code(), Code::unsupported);
  for (const char* transport : {"auto", "socket", "ucx"}) {
    if (transport == std::string{"ucx"} && !UcxLender::is_built_in()) continue;
    SCOPED_TRACE(transport);
    options.transport = transport;
    auto memory = connect_remote_memory(options).value();
    auto region = memory->allocate(named(1), mib).value();
    EXPECT_EQ(region->mapped(), nullptr);
    const auto data = pattern(mib, 9);
    ASSERT_TRUE(region->put(0, data.data(), mib).ok() && memory->flush().ok());
    std::vector<std::byte> got(mib);
    ASSERT_TRUE(region->get(0, got.data(), mib).ok() && memory->flush().ok());
    EXPECT_EQ(got, data);
  }
}

TEST(RemoteMemory, quota_and_size_are_kept) {
  ServerProcess server{{.size = 8 * mib, .quota = 5 * mib}};
  auto first = server.connect(), second = server.connect();
  ASSERT_TRUE(first && second);
  auto a = first->allocate(named(1), 5 * mib).value();
  const Status quota = first->allocate(named(2), 1).status();
  EXPECT_EQ(quota.code(), Code::no_memory);
  EXPECT_NE(quota.message().find("--quota"), std::string::npos) << quota.message();
  const Status full = second->allocate(named(3), 4 * mib).status();
  EXPECT_EQ(full.code(), Code::no_memory);
  EXPECT_NE(full.message().find("5 MiB of 8 MiB"), std::string::npos) << full.message();
  EXPECT_EQ(second->allocate(named(3), ~0ULL).status().code(), Code::no_memory);
  auto b = second->allocate(named(3), 3 * mib).value();
  a.reset();
  EXPECT_TRUE(second->allocate(named(4), 2 * mib).ok());
  EXPECT_TRUE(first->allocate(named(5), 5 * mib).ok());
}

TEST(RemoteMemory, what_its_owner_left_stays_for_those_who_have_it) {
  ServerProcess server{{.size = 8 * mib}};
  auto reader = server.connect();
  ASSERT_TRUE(reader);
  auto owner = server.connect();
  auto region = owner->allocate(named(1), mib).value();
  const auto data = pattern(mib, 5);
  ASSERT_TRUE(region->put(0, data.data(), mib).ok());
  auto view = reader->attach(named(1)).value();
  region.reset();
  owner.reset();
  ASSERT_TRUE(soon([&] { return server.report().clients.size() == 1; }));
  std::vector<std::byte> got(mib);
  ASSERT_TRUE(view->get(0, got.data(), mib).ok());
  EXPECT_EQ(got, data);
  EXPECT_EQ(server.report().used, mib);
  view.reset();
  EXPECT_TRUE(soon([&] { return server.report().used == 0; }));
}

TEST(RemoteMemory, what_goes_back_while_somebody_uses_it_is_known_to_be_lost) {
  ServerProcess server{{.size = 64 * mib}};
  auto memory = server.connect();
  ASSERT_TRUE(memory);
  auto region = memory->allocate(named(1), 64 * mib).value();
  const auto* first = reinterpret_cast<volatile unsigned char*>(region->mapped());
  std::fill_n(region->mapped(), 64 * mib, std::byte{7});
  ASSERT_TRUE(memory->failure().ok());
  server.process().signal(SIGTERM);
  for (const Deadline deadline = Deadline::in(10); *first == 7 && !deadline.is_over();) {
  }
  EXPECT_NE(*first, 7);
  EXPECT_FALSE(memory->failure().ok());  // and not later than the memory went
}

TEST(RemoteMemory, jobs_do_not_meet_under_the_same_numbers) {
  ServerProcess server{{.size = 8 * mib}};
  auto one = server.connect(), other = server.connect();
  ASSERT_TRUE(one && other);
  auto a = one->allocate({{1, 1}, 5, 0}, mib).value(), b = other->allocate({{2, 1}, 5, 0}, mib).value();
  a->mapped()[0] = std::byte{1};
  b->mapped()[0] = std::byte{2};
  EXPECT_EQ(one->attach({{1, 1}, 5, 0}).value()->mapped()[0], std::byte{1});
  EXPECT_EQ(one->attach({{3, 1}, 5, 0}).status().code(), Code::not_found);
}

TEST(RemoteMemory, can_be_files_on_storage_of_the_node) {
  ScratchDirectory directory;
  ServerProcess server{{.size = 8 * mib, .directory = directory.path()}};
  auto memory = server.connect();
  ASSERT_TRUE(memory);
  auto region = memory->allocate(named(1), 2 * mib).value();
  region->mapped()[2 * mib - 1] = std::byte{7};
  EXPECT_EQ(memory->attach(named(1)).value()->mapped()[2 * mib - 1], std::byte{7});
}
