#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "remote/memory_server.hpp"

/// memory_server BYTES CONTACT [ADDRESS SECRET]: lends memory until SIGTERM.
namespace {
weir::MemoryServer* serving = nullptr;
}

int main(int count, char** arguments) {
  weir::MemoryServerOptions options;
  options.size = std::strtoull(arguments[1], nullptr, 10);
  options.contact = arguments[2];
  options.listen = count > 3 ? arguments[3] : "unix:" + options.contact + ".socket";
  if (count > 4) options.secret = arguments[4];
  auto server = weir::MemoryServer::make(options);
  if (!server) return std::fprintf(stderr, "%s\n", server.status().message().c_str()), 1;
  serving = server->get();
  std::signal(SIGTERM, [](int) { serving->stop(); });
  return serving->run().ok() ? 0 : 1;
}
