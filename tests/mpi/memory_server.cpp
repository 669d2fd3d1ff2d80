#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "remote/memory_server.hpp"

/// memory_server BYTES CONTACT: lends memory until SIGTERM.
namespace {
weir::MemoryServer* serving = nullptr;
}

int main(int, char** arguments) {
  weir::MemoryServerOptions options;
  options.size = std::strtoull(arguments[1], nullptr, 10);
  options.contact = arguments[2];
  options.listen = "unix:" + options.contact + ".socket";
  auto server = weir::MemoryServer::make(options);
  if (!server) return std::fprintf(stderr, "%s\n", server.status().message().c_str()), 1;
  serving = server->get();
  std::signal(SIGTERM, [](int) { serving->stop(); });
  return serving->run().ok() ? 0 : 1;
}
