#include "storage/make_storage.hpp"

#include <gtest/gtest.h>

#include "storage/posix_storage.hpp"

namespace weir {
namespace {

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

}  // namespace
}  // namespace weir
