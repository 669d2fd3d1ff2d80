#include <gtest/gtest.h>

#include <random>

#include "remote/server_process.hpp"
#include "remote/striped_region.hpp"
#include "remote/ucx_lender.hpp"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint64_t stripe = 4096;

/// Several servers as one bank.
class Stripes {
 public:
  explicit Stripes(const std::vector<std::uint64_t>& sizes, std::uint64_t quota = 0) {
    for (const std::uint64_t size : sizes) {
      servers.push_back(std::make_unique<ServerProcess>(MemoryServerOptions{.size = size, .quota = quota}));
      options.contact += (options.contact.empty() ? "" : ",") + servers.back()->contact();
    }
    options.stripe = stripe;
    options.timeout_s = 20;
  }
  [[nodiscard]] std::unique_ptr<RemoteMemory> connect() const { return connect_remote_memory(options).value(); }
  [[nodiscard]] std::vector<std::uint64_t> used() const {
    std::vector<std::uint64_t> all;
    for (const auto& server : servers) all.push_back(server->report().used);
    return all;
  }

  std::vector<std::unique_ptr<ServerProcess>> servers;
  RemoteOptions options;
};

}  // namespace

TEST(Stripes, parts_of_any_size_hold_every_byte_once) {
  for (std::uint64_t whole = 1; whole < 12 * 8; ++whole)
    for (std::uint32_t parts = 1; parts <= 4; ++parts) {
      std::vector<std::uint64_t> expected(parts);
      for (std::uint64_t i = 0; i < whole; ++i) ++expected[i / 8 % parts];
      for (std::uint32_t part = 0; part < parts; ++part)
        EXPECT_EQ(bytes_of_part({whole, 8, part, parts}), expected[part]) << whole << " in " << parts;
    }
}

class StripedTransport : public ::testing::TestWithParam<std::pair<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(Stripes, StripedTransport,
                         ::testing::Values(std::pair{"mapped", 2}, std::pair{"mapped", 3}, std::pair{"ucx", 2},
                                           std::pair{"ucx", 3}, std::pair{"socket", 2}, std::pair{"socket", 3}),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.first, info.param.second); });

TEST_P(StripedTransport, random_pieces_arrive_as_in_one_array) {
  const auto [transport, count] = GetParam();
  if (transport == std::string{"ucx"} && !UcxLender::is_built_in()) GTEST_SKIP() << "built without UCX";
  Stripes stripes{std::vector<std::uint64_t>(static_cast<std::size_t>(count), 8 * mib)};
  stripes.options.transport = transport;
  auto writer = stripes.connect(), reader = stripes.connect();
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random{seed};
  for (std::uint64_t serial = 0; serial < 8; ++serial) {
    const std::uint64_t size = 1 + random() % (serial % 2 == 0 ? 3 * stripe : 40 * stripe);
    auto region = writer->allocate(named(serial), size).value();
    auto view = reader->attach(named(serial)).value();
    ASSERT_EQ(region->size(), size);
    ASSERT_EQ(view->size(), size);
    std::vector<std::byte> expected(size);
    std::vector<std::vector<std::byte>> pieces;
    for (int k = 0; k < 20; ++k) {
      const std::uint64_t at = random() % size, bytes = random() % (size - at + 1);
      std::vector<std::byte> piece(bytes);
      for (auto& byte : piece) byte = static_cast<std::byte>(random());
      std::ranges::copy(piece, expected.begin() + static_cast<std::ptrdiff_t>(at));
      ASSERT_EQ(region->put(at, piece.data(), bytes).message(), "");
      ASSERT_EQ(writer->flush().message(), "");  // what overlaps has an order
    }
    std::vector<std::byte> got(size);
    ASSERT_EQ(view->get(0, got.data(), size).message(), "");
    ASSERT_EQ(reader->flush().message(), "");
    EXPECT_TRUE(got == expected) << "differs first at " << std::ranges::mismatch(got, expected).in1 - got.begin();
    EXPECT_EQ(region->put(size, got.data(), 1).code(), Code::invalid);
  }
  for (const std::uint64_t used : stripes.used()) EXPECT_EQ(used, 0U);
}

TEST(Stripes, of_a_region_lie_on_all_servers_and_short_regions_on_one) {
  Stripes stripes{{mib, mib, mib}};
  auto memory = stripes.connect();
  auto large = memory->allocate(named(0), 6 * stripe).value();
  EXPECT_EQ(stripes.used(), (std::vector<std::uint64_t>{2 * stripe, 2 * stripe, 2 * stripe}));
  auto small = memory->allocate(named(1), 10).value();
  EXPECT_EQ(stripes.used(), (std::vector<std::uint64_t>{2 * stripe, 3 * stripe, 2 * stripe}));
  large.reset();
  EXPECT_EQ(stripes.used(), (std::vector<std::uint64_t>{0, stripe, 0}));
}

TEST(Stripes, servers_without_room_are_left_out_and_nothing_is_left_on_them) {
  Stripes stripes{{64 * stripe, 2 * stripe, 64 * stripe}};
  auto memory = stripes.connect(), other = stripes.connect();
  auto region = memory->allocate(named(0), 30 * stripe).value();
  EXPECT_EQ(stripes.used(), (std::vector<std::uint64_t>{15 * stripe, 0, 15 * stripe}));
  std::vector<std::byte> data(30 * stripe, std::byte{7}), got(data.size());
  ASSERT_TRUE(region->put(0, data.data(), data.size()).ok());
  auto view = other->attach(named(0)).value();
  ASSERT_TRUE(view->get(0, got.data(), got.size()).ok());
  ASSERT_TRUE(other->flush().ok());
  EXPECT_TRUE(got == data);
  EXPECT_EQ(memory->allocate(named(1), 200 * stripe).status().code(), Code::no_memory);
  EXPECT_EQ(stripes.used(), (std::vector<std::uint64_t>{15 * stripe, 0, 15 * stripe}));
}

TEST(Stripes, count_against_the_quota_on_each_server) {
  Stripes stripes{{mib, mib}, 4 * stripe};
  auto memory = stripes.connect();
  EXPECT_TRUE(memory->allocate(named(0), 8 * stripe).ok());
  EXPECT_EQ(memory->allocate(named(1), 9 * stripe).status().code(), Code::no_memory);
  EXPECT_EQ(memory->capacity().value(), 8 * stripe);
}

TEST(Stripes, one_server_that_dies_takes_them_all_along) {
  Stripes stripes{{mib, mib, mib}};
  auto memory = stripes.connect(), other = stripes.connect();
  auto region = memory->allocate(named(0), 30 * stripe).value();
  stripes.servers[1]->process().end(SIGKILL);
  EXPECT_EQ(memory->flush().code(), Code::io);
  EXPECT_FALSE(other->attach(named(0)).ok());
  EXPECT_FALSE(memory->allocate(named(1), 30 * stripe).ok());
}

TEST(Stripes, are_not_found_by_who_knows_only_some_of_the_servers) {
  Stripes stripes{{mib, mib, mib}};
  auto memory = stripes.connect();
  auto region = memory->allocate(named(0), 30 * stripe).value();
  RemoteOptions fewer = stripes.options;
  fewer.contact = fewer.contact.substr(0, fewer.contact.rfind(','));
  const auto refused = connect_remote_memory(fewer).value()->attach(named(0));
  EXPECT_EQ(refused.status().code(), Code::not_found);
  EXPECT_NE(refused.status().message().find("only 2 of its 3 parts"), std::string::npos) << refused.status().message();
}
