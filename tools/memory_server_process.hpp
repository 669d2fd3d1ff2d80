#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace weir::tools {

/// `weir memory serve`, started for the time of a benchmark.
class ServerProcess {
 public:
  enum class Listens { unix_socket, tcp };

  /// Throws `Error` when it does not come up. Its contact file, and its socket or secret, are in `directory`.
  ServerProcess(const std::string& directory, std::uint64_t bytes, Listens listens = Listens::unix_socket);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  [[nodiscard]] const std::string& contact() const noexcept { return contact_; }
  /// What clients need to know; "": nothing.
  [[nodiscard]] const std::string& secret() const noexcept { return secret_; }

 private:
  std::string contact_, secret_;
  pid_t process_ = -1;
};

}  // namespace weir::tools
