#include "storage/storage_problem.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "core/errors.hpp"

namespace weir {
namespace {

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
