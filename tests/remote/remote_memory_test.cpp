#include "remote/remote_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "remote/server_process.hpp"

using namespace weir;
using weir::testing::ServerProcess;

namespace {

constexpr std::uint64_t mib = 1U << 20;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + seed);
  return data;
}

RegionName named(std::uint64_t serial, std::uint64_t rank = 0) { return {{0x1234, 0x5678}, serial, rank}; }

std::unique_ptr<RemoteMemory> connect(const ServerProcess& server) {
  RemoteOptions options;
  options.contact = server.contact();
  options.timeout_s = 5;
  auto memory = connect_remote_memory(options);
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  return memory ? *std::move(memory) : nullptr;
}

}  // namespace

TEST(RemoteMemory, what_one_client_puts_another_gets) {
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

TEST(RemoteMemory, a_server_that_is_killed_is_noticed) {
  ServerProcess server{{.size = 64 * mib}};
  auto memory = connect(server);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->failure().ok());
  server.process().end(SIGKILL);
  EXPECT_EQ(memory->failure().code(), Code::io);
  EXPECT_EQ(memory->allocate(named(1), mib).status().code(), Code::io);
}
