#pragma once

#include <sys/mount.h>

#include "fault/harness.hpp"

namespace weir::testing {

/// With a small file system of its own, which needs root and a mount namespace: private_mounts.sh.
class MountWorld : public FaultWorld {
 protected:
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0 && mounted_) {
      EXPECT_EQ(umount2(file("mount").c_str(), MNT_DETACH), 0);
    }
    FaultWorld::TearDown();
  }

  /// A small file system under "mount"; false where the test has to be skipped.
  bool mount_small(const char* options) {
    if (!std::getenv("WEIR_TEST_PRIVATE_MOUNTS")) return false;
    int mounted = 1;
    if (rank() == 0) {
      std::filesystem::create_directory(file("mount"));
      mounted = mount("weir-test", file("mount").c_str(), "tmpfs", 0, options) == 0;
    }
    MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return mounted_ = mounted != 0;
  }

  static constexpr const char* why_skipped = "needs root and mounts of its own (unshare -m, see private_mounts.sh)";

 private:
  bool mounted_ = false;
};

}  // namespace weir::testing
