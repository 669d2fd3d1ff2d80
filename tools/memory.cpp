#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>

#include "commands.hpp"
#include "core/log.hpp"
#include "core/units.hpp"
#include "memory/huge_page_bank.hpp"
#include "memory_status.hpp"
#include "remote/memory_server.hpp"

namespace weir::tools {
namespace {

struct ServeOptions {
  MemoryServerOptions server;
  std::string size, quota;
  bool verbose = false;
};

std::atomic<MemoryServer*> running{nullptr};

extern "C" void stop_serving(int) {
  if (MemoryServer* server = running.load()) server->stop();
}

int fail(const Status& status) {
  fmt::print(stderr, "{}\n", status.message());
  return status.code() == Code::invalid || status.code() == Code::settings ? 2 : 1;
}

/// Every client and every region is a descriptor.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool read_size(const char* option, const std::string& text, std::uint64_t& bytes) {
  if (text.empty()) return true;
  const auto parsed = parse_bytes(text);
  if (!parsed || *parsed == 0) {
    fmt::print(stderr, "weir: {} '{}' is no size\n      sizes are such as 64MiB, 4GiB or 4096\n", option, text);
    return false;
  }
  bytes = *parsed;
  return true;
}

int serve(ServeOptions& options) {
  if (!read_size("--size", options.size, options.server.size)) return 2;
  if (!read_size("--quota", options.quota, options.server.quota)) return 2;
  if (options.verbose) (void)set_log("net:debug,remote:debug").ok();
  ::umask(077);
  allow_many_descriptors();
  if (!options.server.secret.empty()) ::prctl(PR_SET_DUMPABLE, 0);  // the secret is in memory
  auto server = MemoryServer::make(options.server);
  if (!server) return fail(server.status());
  running = server->get();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, stop_serving);
  std::signal(SIGPIPE, SIG_IGN);
  fmt::print("lends {} at {}\ncontact file {}\n", format_bytes(options.server.size),
             (*server)->contact().endpoint.text(), options.server.contact);
  std::fflush(stdout);
  if (options.server.huge_pages)
    if (const Status none = HugePageBank::check(); !none) fmt::print(stderr, "{}\n", none.message());
  const Status status = (*server)->run();
  running = nullptr;
  return status ? 0 : fail(status);
}

void add_serve(CLI::App& group) {
  static ServeOptions options;
  options.server.contact = "weir-memory.contact";
  MemoryServerOptions& server = options.server;
  CLI::App* command = group.add_subcommand("serve", "lends memory of this node to jobs, until it is ended");
  command->add_option("--size", options.size, "bytes to lend, to all clients together")->required()->type_name("BYTES");
  command->add_option("--quota", options.quota, "the most that one client may have; all of it when not given")
      ->type_name("BYTES");
  command
      ->add_option("--listen", server.listen,
                   "unix:PATH or tcp:HOST:PORT, where port 0 is any free one; a UNIX socket in a directory of the "
                   "user when not given")
      ->type_name("ADDRESS");
  command->add_option("--contact", server.contact, "file to make, by which clients find the server")
      ->type_name("FILE")
      ->capture_default_str();
  command
      ->add_option("--secret", server.secret,
                   "file with the secret of the job, which clients must know, made unless it is there; or munge, or "
                   "munge:SOCKET; TCP needs one")
      ->type_name("FILE");
  command
      ->add_option("--directory", server.directory,
                   "lends mapped files without names in this directory on storage of the node, instead of memory")
      ->type_name("DIR");
  command->add_flag("--huge-pages", server.huge_pages, "lends huge pages while the system has some, else ordinary memory")
      ->excludes("--directory");
  command->add_option("--job", server.job, "name of the job in the contact file; made up when not given")
      ->type_name("ID");
  ServerLimits& limits = server.limits;
  command->add_option("--clients", limits.per_user, "the most clients at a time")->capture_default_str();
  command->add_option("--hello", limits.hello_s, "seconds in which a client must prove who it is")
      ->capture_default_str();
  command->add_option("--progress", limits.progress_s, "seconds for the rest of a message that has begun")
      ->capture_default_str();
  command->add_option("--idle", limits.idle_s, "seconds after which a client that says nothing loses what it has")
      ->capture_default_str();
  command->add_flag("--verbose", options.verbose, "tells on stderr who comes, leaves and is refused");
  command->footer(R"(It stays in the foreground; SIGTERM or SIGINT end it, and its contact file and socket go with it.

  weir memory serve --size 4GiB --contact job.contact &

  weir memory serve --size 4GiB --listen tcp:node7:0 --secret job.secret --contact job.contact &

Clients at a UNIX socket must be processes of the same user. TCP needs a secret, which both sides prove to know without
sending it; or --secret munge: the cluster's munge service then tells each side that the same user runs the other. What
a client has is given back when its connection ends, however that happens.

Exit codes: 0 ended by a signal, 1 it cannot serve, 2 wrong use.)");
  command->callback([] { set_exit_code(serve(options)); });
}

void add_status(CLI::App& group) {
  static StatusOptions options;
  CLI::App* command = group.add_subcommand("status", "clients, regions, bytes and rates of a server");
  command->add_option("--contact", options.contact, "as the server was given")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--secret", options.secret, "as the server was given")->type_name("FILE");
  command->add_option("--json", options.json, "writes it as JSON to this file, - for the standard output")
      ->type_name("FILE");
  command->add_option("--timeout", options.timeout_s, "seconds to wait for the server")->capture_default_str();
  command->footer("Exit codes: 0 the server answers, 1 it does not, 2 wrong use.");
  command->callback([] {
    const Status status = show_memory_status(options);
    set_exit_code(status ? 0 : fail(status));
  });
}

}  // namespace

void add_memory(CLI::App& program) {
  CLI::App* group = program.add_subcommand("memory", "lends memory of a node to jobs, and tells who has it");
  group->require_subcommand(1);
  add_serve(*group);
  add_status(*group);
}

}  // namespace weir::tools
