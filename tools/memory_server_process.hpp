#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace weir::tools {

/// `weir memory serve`, started for the time of a benchmark.
class ServerProcess {
 public:
  /// Throws `Error` when it does not come up. Its contact file and socket are in `directory`.
  ServerProcess(const std::string& directory, std::uint64_t bytes);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  [[nodiscard]] const std::string& contact() const noexcept { return contact_; }

 private:
  std::string contact_;
  pid_t process_ = -1;
};

}  // namespace weir::tools
