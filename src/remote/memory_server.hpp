#pragma once

#include <memory>
#include <string>
#include <weir/status.hpp>

#include "net/contact_file.hpp"
#include "net/frame_server.hpp"

namespace weir {

struct MemoryServerOptions {
  std::uint64_t size = 0;      ///< bytes to lend, to all together
  std::uint64_t quota = 0;     ///< to one client; 0: all
  std::string listen = {};     ///< address; "": a UNIX socket in a directory of the user
  std::string contact = {};    ///< file to make
  std::string secret = {};     ///< file, made unless it is there, or "munge[:SOCKET]"; needed for TCP
  std::string job = {};        ///< "": made up
  std::string directory = {};  ///< where memory is mapped files on storage of the node; "": memory
  bool huge_pages = false;     ///< memory is in huge pages while there are some
  ServerLimits limits = {};
};

/// Lends memory to clients that prove who they are, for as long as they are connected.
class MemoryServer {
 public:
  /// Listens, and the contact file is there, when it returns.
  static Result<std::unique_ptr<MemoryServer>> make(const MemoryServerOptions& options);
  virtual ~MemoryServer() = default;

  /// Serves until `stop`, which any thread or signal handler may call. Clients then lose what they have.
  virtual Status run() = 0;
  virtual void stop() noexcept = 0;
  [[nodiscard]] virtual const Contact& contact() const noexcept = 0;
};

/// "unix:" and a path that is this process's own, in a directory that only the user can enter.
Result<std::string> default_listen_address();

}  // namespace weir
