#pragma once

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "mpi/world.hpp"

extern char** environ;

namespace weir::testing {

using Bytes = std::vector<unsigned char>;

/// Steps through a memory server that rank 0 starts, and that may be full, stopped or dead.
class Remote : public World {
 protected:
  void TearDown() override {
    end_server();
    World::TearDown();
  }

  void start_server(std::uint64_t bytes = 64 << 20) {
    contact_ = directory() + "/contact";
    if (rank() == 0) {
      std::string size = std::to_string(bytes), program = WEIR_MEMORY_SERVER;
      char* arguments[] = {program.data(), size.data(), contact_.data(), nullptr};
      posix_spawnattr_t group;  // of its own, with the processes that it starts
      posix_spawnattr_init(&group);
      posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
      ASSERT_EQ(posix_spawn(&server_, program.c_str(), nullptr, &group, arguments, environ), 0);
      posix_spawnattr_destroy(&group);
      for (int i = 0; i < 400 && !std::filesystem::exists(contact_); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{25});
      ASSERT_TRUE(std::filesystem::exists(contact_));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void end_server(int signal = SIGTERM) {
    if (server_ <= 0) return;
    ::kill(-server_, SIGCONT);
    ::kill(server_, signal);
    ::waitpid(server_, nullptr, 0);
    server_ = -1;
  }

  [[nodiscard]] Settings settings(const Settings& more = {}) const {
    Settings all{{"memory.tier", "remote"},      {"remote.contact", contact_}, {"plan.aggregators", "2"},
                 {"plan.buffer_size", "16384"}, {"remote.timeout", "2"}};
    for (const auto& [key, value] : more) all[key] = value;
    return all;
  }
  /// 600 chunks of 500 bytes, one of each rank after another.
  [[nodiscard]] Declaration chunks() const {
    return Declaration{{static_cast<std::uint64_t>(rank()) * 500, 500, static_cast<std::uint64_t>(ranks()) * 500, 600}};
  }
  [[nodiscard]] Bytes data(int salt) const {
    Bytes bytes(600 * 500);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 500 + rank() * 31 + salt);
    return bytes;
  }
  [[nodiscard]] std::string path() const { return directory() + "/data"; }

  /// Writes, reads without remote memory, and compares.
  Status write(Context& weir, int salt, bool& remote) {
    auto file = weir.create(path());
    if (!file) return file.status();
    auto step = file->declare(chunks());
    if (!step) return step.status();
    const Bytes bytes = data(salt);
    if (Status status = step->write(0, bytes); !status.ok()) return status;
    const Status status = file->close(*step);
    remote = step->report().remote_bytes > 0;
    return status;
  }
  Status read(Context& weir, Bytes& bytes, bool& remote) {
    auto file = weir.open(path());
    if (!file) return file.status();
    auto step = file->declare(chunks());
    if (!step) return step.status();
    bytes.assign(600 * 500, 0xee);
    if (Status status = step->read(0, bytes); !status.ok()) return status;
    const Status status = file->close(*step);
    remote = step->report().remote_bytes > 0;
    return status;
  }
  void expect_whole(Context& weir, int salt, bool through_remote) {
    bool remote = false;
    Bytes found;
    ASSERT_EQ(write(weir, salt, remote).message(), "");
    EXPECT_EQ(remote, through_remote);
    ASSERT_EQ(read(weir, found, remote).message(), "");
    EXPECT_EQ(remote, through_remote);
    EXPECT_EQ(found, data(salt));
  }
  /// Every rank has the same.
  void expect_same(Code code) const {
    int mine = static_cast<int>(code), least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most);
  }

  std::string contact_;
  pid_t server_ = -1;
};

}  // namespace weir::testing
