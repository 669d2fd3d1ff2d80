#include "subfile/set_drain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/errors.hpp"
#include "storage/complete.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

SetDrain::SetDrain(StorageSystem& system, const SetLookup& lookup, const SubFiles& files, int node,
                   std::uint64_t buffer)
    : system_{system},
      lookup_{lookup},
      files_{files},
      node_{node},
      loaded_(buffer),
      whole_(buffer),
      from_{system, files, OpenMode::read, problem_} {
  for (std::uint32_t file = 0; file < files.space.files; ++file)
    if (is_here(file))
      for (const StoredVariable& variable : lookup.index().stored_in(file)) total_ += variable.bytes;
}

Status SetDrain::open() {
  for (std::uint32_t file = 0; file < files_.space.files; ++file)
    if (is_here(file))
      if (Status status = from_.probe(file); !status.ok()) return status;
  return {};
}

void SetDrain::keep_to(std::uint64_t rate, const Stopwatch& since) const {
  constexpr double longest_nap_s = 0.05;  // a drain that is given up ends soon
  while (rate > 0 && !stopped_) {
    const double ahead = static_cast<double>(done()) / static_cast<double>(rate) - since.seconds();
    if (ahead <= 0) return;
    std::this_thread::sleep_for(std::chrono::duration<double>{std::min(ahead, longest_nap_s)});
  }
}

Status SetDrain::run(const std::string& target, std::uint64_t rate) {
  const Stopwatch since;
  auto to = system_.open(target, OpenMode::update);
  if (!to) return to.status();
  for (const Extent& reach : lookup_.reach())
    for (std::uint64_t at = reach.offset; at < reach.end() && total_ > 0; at += whole_.size()) {
      if (stopped_) return problem(Code::invalid, fmt::format("cannot drain to '{}': it was given up", target));
      const Extent part{at, std::min<std::uint64_t>(whole_.size(), reach.end() - at)};
      if (Status status = copy(part, **to, target); !status.ok()) return status;
      keep_to(rate, since);
    }
  if (const int error = (*to)->sync()) return storage_problem(error, "sync", target);
  if (const int error = (*to)->close()) return storage_problem(error, "close", target);
  done_ = total_;  // where pieces overlap less was copied
  return {};
}

Status SetDrain::copy(Extent part, Storage& to, const std::string& target) {
  Hits hits = lookup_.written(part);
  std::erase_if(hits, [&](const SetLookup::Hit& hit) { return !is_here(files_.space.file_at(hit.place)); });
  if (Status status = load(hits); !status.ok()) return status;
  return store(hits, part.offset, to, target);
}

Status SetDrain::load(Hits& hits) {
  std::sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
  for (std::size_t first = 0, next = 0; first < hits.size(); first = next) {
    std::uint64_t length = 0;
    while (next < hits.size() && hits[next].place == hits[first].place + length) length += hits[next++].length;
    Io io{.kind = Io::Kind::read, .data = loaded_.data(), .offset = hits[first].place, .length = length};
    complete(from_, io);
    if (io.error != 0 || io.done < length)
      return !problem_.ok() ? problem_
                            : storage_problem(io.error != 0 ? io.error : EIO, "read",
                                              files_.name(files_.space.file_at(hits[first].place)));
    for (std::size_t k = first; k < next; ++k)
      std::memcpy(whole_.data() + hits[k].memory, loaded_.data() + (hits[k].place - hits[first].place), hits[k].length);
  }
  return {};
}

Status SetDrain::store(Hits& hits, std::uint64_t begin, Storage& to, const std::string& target) {
  std::sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (std::size_t first = 0, next = 0; first < hits.size(); first = next) {
    std::uint64_t length = 0;
    while (next < hits.size() && hits[next].offset == hits[first].offset + length) length += hits[next++].length;
    const std::uint64_t offset = hits[first].offset;
    Io io{.kind = Io::Kind::write, .data = whole_.data() + (offset - begin), .offset = offset, .length = length};
    complete(to, io);
    if (io.error != 0) return storage_problem(io.error, "write", target);
    done_ += length;
  }
  return {};
}

}  // namespace weir
