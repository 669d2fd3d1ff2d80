#include "remote/protocol.hpp"

namespace weir {

std::vector<std::byte> RegionAnswer::encode() const {
  Writer writer;
  writer.put(region);
  writer.put(bytes);
  writer.put(address);
  writer.put(key);
  writer.put(worker);
  writer.put(part);
  return writer.data();
}

std::optional<RegionAnswer> RegionAnswer::decode(std::span<const std::byte> payload) {
  Reader reader{payload};
  RegionAnswer answer;
  reader.get_to(answer.region);
  reader.get_to(answer.bytes);
  reader.get_to(answer.address);
  reader.get_to(answer.key);
  reader.get_to(answer.worker);
  reader.get_to(answer.part);
  if (!reader.ok() || !reader.at_end()) return {};
  return answer;
}

std::vector<std::byte> MemoryReport::encode() const {
  Writer writer;
  writer.put(uptime_s);
  for (const std::uint64_t value : {size, used, regions, quota, accepted, refused, dropped, damaged, requests})
    writer.put(value);
  writer.put(job);
  writer.put(clients);
  return writer.data();
}

std::optional<MemoryReport> MemoryReport::decode(std::span<const std::byte> payload) {
  Reader reader{payload};
  MemoryReport report;
  reader.get_to(report.uptime_s);
  for (std::uint64_t* value : {&report.size, &report.used, &report.regions, &report.quota, &report.accepted,
                               &report.refused, &report.dropped, &report.damaged, &report.requests})
    reader.get_to(*value);
  reader.get_to(report.job);
  reader.get_to(report.clients);
  if (!reader.ok() || !reader.at_end()) return {};
  return report;
}

}  // namespace weir
