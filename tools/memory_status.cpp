#include "memory_status.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "net/connection.hpp"
#include "remote/protocol.hpp"

namespace weir::tools {
namespace {

Result<MemoryReport> ask(const Contact& contact, const StatusOptions& options) {
  auto connection = Connection::open(contact, {0, "admin", options.secret, options.timeout_s});
  if (!connection) return connection.status();
  auto frame = (*connection)->ask(MemoryMessage::status, {});
  if (!frame) return frame.status();
  auto report = MemoryReport::decode(frame->payload);
  if (!report) return problem(Code::corrupt, "cannot understand the report of the server");
  return *std::move(report);
}

std::string rate(double bytes_per_second) { return format_bytes(static_cast<std::uint64_t>(bytes_per_second)) + "/s"; }

void print_table(const Contact& contact, const MemoryReport& report) {
  fmt::print("server   {} (process {} on {}), job {}, up {}\n", contact.endpoint.text(), contact.pid, contact.host,
             report.job, format_seconds(report.uptime_s));
  fmt::print("memory   {} of {} in {} regions; {} a client at most\n", format_bytes(report.used),
             format_bytes(report.size), report.regions, format_bytes(report.quota));
  fmt::print("traffic  {} connections, {} refused, {} ended, {} requests, {} damaged\n", report.accepted,
             report.refused, report.dropped, report.requests, report.damaged);
  if (report.clients.empty()) return;
  fmt::print("\n{:>8} {:>8} {:>8} {:>12} {:>9} {:>12} {:>12} {:>14} {:>14}\n", "client", "process", "regions", "bytes",
             "attached", "put", "got", "put rate", "get rate");
  for (const ClientReport& client : report.clients)
    fmt::print("{:>8} {:>8} {:>8} {:>12} {:>9} {:>12} {:>12} {:>14} {:>14}\n", client.session,
               client.pid == 0 ? "-" : std::to_string(client.pid), client.regions, format_bytes(client.bytes),
               client.attached, format_bytes(client.moved.put), format_bytes(client.moved.got), rate(client.put_rate),
               rate(client.get_rate));
}

nlohmann::json as_json(const Contact& contact, const MemoryReport& report) {
  nlohmann::json json{{"address", contact.endpoint.text()},
                      {"process", contact.pid},
                      {"host", contact.host},
                      {"job", report.job},
                      {"uptime_s", report.uptime_s},
                      {"size", report.size},
                      {"used", report.used},
                      {"regions", report.regions},
                      {"quota", report.quota},
                      {"accepted", report.accepted},
                      {"refused", report.refused},
                      {"ended", report.dropped},
                      {"damaged", report.damaged},
                      {"requests", report.requests},
                      {"clients", nlohmann::json::array()}};
  for (const ClientReport& client : report.clients)
    json["clients"].push_back({{"client", client.session},
                               {"process", client.pid},
                               {"regions", client.regions},
                               {"bytes", client.bytes},
                               {"attached", client.attached},
                               {"put", client.moved.put},
                               {"got", client.moved.got},
                               {"put_rate", client.put_rate},
                               {"get_rate", client.get_rate}});
  return json;
}

Status write_json(const nlohmann::json& json, const std::string& path) {
  if (path == "-") return fmt::print("{}\n", json.dump(2)), Status{};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "w"), std::fclose};
  if (!file) return system_problem(errno, fmt::format("write '{}'", path));
  fmt::print(file.get(), "{}\n", json.dump(2));
  return {};
}

}  // namespace

Status show_memory_status(const StatusOptions& options) {
  auto contact = read_contact(options.contact);
  if (!contact) return contact.status();
  auto report = ask(*contact, options);
  if (!report) return report.status();
  if (!options.json.empty()) return write_json(as_json(*contact, *report), options.json);
  print_table(*contact, *report);
  return {};
}

}  // namespace weir::tools
