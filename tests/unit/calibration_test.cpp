#include "machine/calibration.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "memory/bank_speed.hpp"
#include "memory/dram_bank.hpp"
#include "storage/file_speed.hpp"

namespace weir {
namespace {

NodeFacts node(const std::string& host) {
  NodeFacts facts;
  facts.host = facts.system = host;
  facts.shape = 5;
  facts.numa.push_back({0, "dram", {64e9, Origin::system, ""}, {}, {}, {}});
  return facts;
}

Calibration measured_example() {
  return {CalibrationKey::of(join({node("a"), node("b")}), 4, "/scratch \"x\""),
          {Measurement::of("bank.dram.write", Unit::bytes_per_second, {8e9, 9e9, 10e9}),
           Measurement::of("network.latency", Unit::seconds, {2e-6}),
           Measurement::of("network.bandwidth", Unit::bytes_per_second, {3e9})}};
}

TEST(Calibration, a_measurement_is_the_median_and_tells_its_spread) {
  const Measurement odd = Measurement::of("x", Unit::seconds, {5, 1, 100, 2, 3});
  EXPECT_EQ(odd.value, 3);
  EXPECT_EQ(odd.spread, 1);
  EXPECT_EQ(odd.repetitions, 5);
  EXPECT_EQ(Measurement::of("x", Unit::seconds, {}).value, 0);
}

TEST(Calibration, replaces_what_was_assumed_and_leaves_what_was_configured) {
  Machine machine = machine_of({node("a"), node("b")}, 4);
  machine.banks[0].latency = {1e-7, Origin::configured, ""};
  Calibration calibration = measured_example();
  calibration.measurements.push_back(Measurement::of("bank.dram.latency", Unit::seconds, {9e-8}));
  apply(machine, calibration);
  EXPECT_EQ(format_figure(machine.banks[0].write), "9 GB/s (measured: median of 3, spread 11 %)");
  EXPECT_EQ(machine.banks[0].latency.origin, Origin::configured);
  EXPECT_EQ(machine.banks[0].read.origin, Origin::assumed);
  EXPECT_EQ(machine.topology->kind(), "flat");
  EXPECT_DOUBLE_EQ(machine.topology->latency(0, 1), 2e-6);
  EXPECT_DOUBLE_EQ(machine.topology->bandwidth(0, 1), 3e9);
}

TEST(Calibration, is_stored_and_read_again) {
  const Calibration calibration = measured_example();
  auto again = parse_calibration(calibration_text(calibration), calibration.key);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, calibration);
}

TEST(Calibration, a_damaged_file_is_refused_wherever_it_is_damaged) {
  const Calibration calibration = measured_example();
  const std::string text = calibration_text(calibration);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    EXPECT_EQ(parse_calibration(changed, calibration.key).status().code(), Code::corrupt) << at;
    EXPECT_EQ(parse_calibration(text.substr(0, at), calibration.key).status().code(), Code::corrupt) << at;
  }
}

TEST(Calibration, of_another_machine_is_refused_with_the_difference) {
  const Calibration calibration = measured_example();
  const std::string text = calibration_text(calibration);
  const auto refused = [&](const CalibrationKey& wanted, const char* why) {
    const Status status = parse_calibration(text, wanted).status();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  };
  CalibrationKey key = calibration.key;
  key.nodes = 3;
  refused(key, "2 nodes, not 3");
  key = calibration.key;
  key.hosts = "others";
  refused(key, "other hosts");
  key = calibration.key;
  key.shape = 1;
  refused(key, "other hardware");
  key = calibration.key;
  key.ranks_per_node = 1;
  refused(key, "4 ranks a node, not 1");
  key = calibration.key;
  key.storage = "/else";
  refused(key, "not '/else'");
}

TEST(Calibration, has_a_file_of_its_own_for_every_machine) {
  CalibrationKey a = measured_example().key, b = a;
  b.nodes = 7;
  EXPECT_NE(calibration_path("/cache", a), calibration_path("/cache", b));
  EXPECT_EQ(calibration_path("/cache", a).find("/cache/calibration-"), 0u);
}

TEST(Calibration, is_written_whole_into_a_directory_that_is_made) {
  std::string parent = "/tmp/weir-calibration-XXXXXX";
  ASSERT_NE(mkdtemp(parent.data()), nullptr);
  const std::string path = parent + "/new/file.toml";
  EXPECT_EQ(read_calibration(path).status().code(), Code::not_found);
  EXPECT_EQ(write_calibration(path, "first").message(), "");
  EXPECT_EQ(write_calibration(path, "second").message(), "");
  EXPECT_EQ(read_calibration(path).value(), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{parent + "/new"}, {}), 1);
  EXPECT_FALSE(write_calibration(path + "/below/file.toml", "x").ok());
  std::filesystem::remove_all(parent);
}

TEST(Speed, of_a_bank_is_positive_and_measured_in_the_time_given) {
  BankAttributes attributes;
  attributes.name = "dram";
  DramBank bank{attributes};
  auto speed = measure_bank(bank, 8 << 20, 0.1);
  ASSERT_TRUE(speed.ok()) << speed.status().message();
  for (const auto* samples : {&speed->latency, &speed->read, &speed->write}) {
    ASSERT_FALSE(samples->empty());
    for (const double sample : *samples) EXPECT_GT(sample, 0);
  }
  EXPECT_EQ(bank.used(), 0u);
}

TEST(Speed, of_a_bank_that_is_too_small_is_an_error) {
  BankAttributes attributes;
  attributes.name = "small";
  attributes.capacity = 1 << 20;
  DramBank bank{attributes};
  EXPECT_EQ(measure_bank(bank, 8 << 20, 0.1).status().code(), Code::no_memory);
}

TEST(Speed, of_files_is_positive_and_leaves_none_behind) {
  std::string directory = "/tmp/weir-speed-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  auto speed = measure_files(directory, 0.2);
  ASSERT_TRUE(speed.ok()) << speed.status().message();
  for (const auto* samples : {&speed->latency, &speed->read, &speed->accepted, &speed->durable}) {
    ASSERT_FALSE(samples->empty());
    for (const double sample : *samples) EXPECT_GT(sample, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
  EXPECT_EQ(measure_files(directory, 0.2).status().code(), Code::not_found);
}

}  // namespace
}  // namespace weir
