// What each fault rule does to a storage.

#include "storage/faulty_storage.hpp"

#include <bit>

#include "contract/storage_cases.hpp"
#include "storage/fault_rules.hpp"

namespace weir {
namespace {

class FaultyStorageTest : public KeepingStorageTest {};
INSTANTIATE_TEST_SUITE_P(Every, FaultyStorageTest,
                         ::testing::Values(posix_cases[0], posix_cases[1], posix_cases[2], posix_cases[3], memory_case),
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

}  // namespace
}  // namespace weir
