#include "remote/memory_server.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <unordered_map>

#include "core/errors.hpp"
#include "memory/huge_page_bank.hpp"
#include "remote/lent_memory.hpp"
#include "remote/protocol.hpp"
#include "remote/region_table.hpp"
#include "remote/transfer_rates.hpp"

namespace weir {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Answer refusal_answer(const Status& status) {
  HandshakeReply reply = refusal(status.code(), status.message());
  return {reply.type, std::move(reply.payload)};
}

Answer nonsense() { return refusal_answer(problem(Code::corrupt, "cannot understand a request to the memory server")); }

std::string random_job() {
  const auto bytes = random_bytes<8>();
  std::string job = "job-";
  if (auto copy = bytes)
    for (const std::byte byte : *copy) job += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return job;
}

/// What a memory server does with requests.
class MemoryService final : public MemoryServer, private Service {
 public:
  MemoryService(const MemoryServerOptions& options, LentMemory memory)
      : memory_{std::move(memory)},
        table_{{options.size, options.quota == 0 ? options.size : options.quota, 1024,
                options.huge_pages ? HugePageBank::page : std::uint64_t{4096}}},
        began_{Deadline::Clock::now()} {}

  Status start(const MemoryServerOptions& options);

  Status run() override { return server_->run(); }
  void stop() noexcept override { server_->stop(); }
  [[nodiscard]] const Contact& contact() const noexcept override { return contact_; }

 private:
  struct Client {
    Session session;
    TransferRates rates;
  };

  Answer handle(const Session& session, const Frame& request) override;
  void left(const Session& session) noexcept override;

  Answer allocate(const Session& session, const AllocateRequest& request);
  Answer attach(const Session& session, const AttachRequest& request);
  Answer release(const Session& session, const ReleaseRequest& request);
  Answer beat(const Session& session, const Moved& moved);
  Answer report();
  Answer join(const Session& session, const Ticket& ticket);
  Answer lend(const Session& session, std::uint64_t region, std::uint64_t access);

  LentMemory memory_;
  RegionTable table_;
  std::unordered_map<std::uint64_t, Client> clients_;
  Deadline::Clock::time_point began_;
  Contact contact_;
  std::unique_ptr<FrameServer> server_;
  std::optional<ContactFile> contact_file_;
};

Status MemoryService::start(const MemoryServerOptions& options) {
  std::string listen = options.listen;
  if (listen.empty()) {
    auto address = default_listen_address();
    if (!address) return address.status();
    listen = *std::move(address);
  }
  auto endpoint = Endpoint::parse(listen);
  if (!endpoint) return endpoint.status();
  Credentials credentials;
  credentials.job = options.job.empty() ? random_job() : options.job;
  if (!is_job_id(credentials.job))
    return problem(Code::invalid, fmt::format("cannot use the job id '{}'", credentials.job),
                   "letters, digits, '.', '_' and '-', at most 64");
  credentials.features = memory_.features() & (endpoint->local ? ~0ULL : ~MemoryFeature::mapped);
  if (Status status = fill_random(credentials.nonce); !status) return status;
  if (!options.secret.empty() && !Munge::socket_in(options.secret))
    if (Status status = make_secret(options.secret); !status) return status;
  if (Status status = credentials.prove_by(options.secret); !status) return status;
  if (credentials.munge)  // told now, and not by every client
    if (Status status = credentials.munge->credential({}).status(); !status) return status;
  contact_ = {*endpoint, credentials.job, credentials.nonce, ::getpid(), host_name()};
  auto server = FrameServer::make(*std::move(endpoint), std::move(credentials), options.limits, *this);
  if (!server) return server.status();
  server_ = *std::move(server);
  contact_.endpoint = server_->endpoint();
  if (options.contact.empty()) return {};
  auto file = ContactFile::make(options.contact, contact_);
  if (!file) return file.status();
  contact_file_.emplace(*std::move(file));
  return {};
}

Answer MemoryService::handle(const Session& session, const Frame& request) {
  clients_.try_emplace(session.id, Client{session, {}});
  const auto with = [&]<class Request>(Answer (MemoryService::*verb)(const Session&, const Request&)) {
    const auto decoded = decode_plain<Request>(request.payload);
    return decoded ? (this->*verb)(session, *decoded) : nonsense();
  };
  switch (request.type) {
    case MemoryMessage::allocate: return with(&MemoryService::allocate);
    case MemoryMessage::attach: return with(&MemoryService::attach);
    case MemoryMessage::release: return with(&MemoryService::release);
    case MemoryMessage::beat: return with(&MemoryService::beat);
    case MemoryMessage::status: return report();
    case MemoryMessage::join: return with(&MemoryService::join);
    default: return nonsense();
  }
}

Answer MemoryService::allocate(const Session& session, const AllocateRequest& request) {
  auto region = table_.reserve(session.id, request.name, request.bytes);
  if (!region) return refusal_answer(region.status());
  if (Status status = memory_.allocate(*region, request); !status) {
    (void)table_.release(session.id, *region).ok();
    return refusal_answer(status);
  }
  return lend(session, *region, request.access);
}

Answer MemoryService::attach(const Session& session, const AttachRequest& request) {
  auto region = table_.attach(session.id, request.name);
  if (!region) return refusal_answer(region.status());
  return lend(session, *region, request.access);
}

/// A region that the session has in the table, in the way that it wants to reach it.
Answer MemoryService::lend(const Session& session, std::uint64_t region, std::uint64_t access) {
  auto lent = memory_.lend(region, session, access & session.features, *server_);
  if (lent) return *std::move(lent);
  (void)release(session, {region});
  return refusal_answer(lent.status());
}

Answer MemoryService::release(const Session& session, const ReleaseRequest& request) {
  auto last = table_.release(session.id, request.region);
  if (!last) return refusal_answer(last.status());
  if (*last) memory_.free(request.region);
  return {MemoryMessage::done, {}};
}

Answer MemoryService::beat(const Session& session, const Moved& moved) {
  clients_[session.id].rates.note(moved);
  return {MemoryMessage::done, {}};
}

Answer MemoryService::join(const Session& session, const Ticket& ticket) {
  if (session.role != Session::data_role) return nonsense();
  auto socket = server_->hand_over(session.id);
  if (!socket) return refusal_answer(socket.status());
  if (Status status = memory_.join(ticket, *std::move(socket)); !status) return refusal_answer(status);
  return {MemoryMessage::done, {}};
}

Answer MemoryService::report() {
  const ServerCounters& counters = server_->counters();
  MemoryReport report;
  report.uptime_s = std::chrono::duration<double>(Deadline::Clock::now() - began_).count();
  report.size = table_.limits().total;
  report.quota = table_.limits().per_client;
  report.used = table_.used();
  report.regions = table_.size();
  report.accepted = counters.accepted;
  report.refused = counters.refused;
  report.dropped = counters.dropped;
  report.damaged = counters.damaged;
  report.requests = counters.requests;
  report.job = contact_.job;
  for (const auto& [id, client] : clients_) {
    const auto usage = table_.usage(id);
    if (client.session.role != "client") continue;
    report.clients.push_back({id, client.session.process.pid, usage.regions, usage.bytes, usage.attached,
                              client.rates.moved(), client.rates.put_rate(), client.rates.get_rate()});
  }
  return {MemoryMessage::report, report.encode()};
}

void MemoryService::left(const Session& session) noexcept {
  memory_.left(session);  // so that nothing that it began arrives later
  for (const std::uint64_t region : table_.leave(session.id)) memory_.free(region);
  clients_.erase(session.id);
}

}  // namespace

Result<std::string> default_listen_address() {
  std::string directory;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime && *runtime) {
    directory = runtime;
  } else {
    directory = fmt::format("/tmp/weir-{}", ::geteuid());
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
      return system_problem(errno, fmt::format("make the directory '{}'", directory), "name an address with --listen");
  }
  struct stat facts {};
  if (::lstat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() ||
      (facts.st_mode & 077) != 0)
    return problem(
        Code::access,
        [&] {
          return fmt::format("cannot listen in '{}': it is not a directory that only this user can enter", directory);
        },
        "name an address with --listen unix:PATH");
  return fmt::format("unix:{}/weir-memory-{}.sock", directory, ::getpid());
}

Result<std::unique_ptr<MemoryServer>> MemoryServer::make(const MemoryServerOptions& options) {
  if (options.size == 0)
    return problem(Code::invalid, "cannot lend 0 bytes of memory", "give a size such as --size 4GiB");
  auto memory = LentMemory::make(options);
  if (!memory) return memory.status();
  auto server = std::make_unique<MemoryService>(options, *std::move(memory));
  if (Status status = server->start(options); !status) return status;
  return std::unique_ptr<MemoryServer>{std::move(server)};
}

}  // namespace weir
