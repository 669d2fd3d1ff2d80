#include "engine/direct.hpp"

#include <algorithm>

namespace weir {

void Direct::move(std::size_t variable, std::byte* memory) noexcept {
  const auto& declaration = pass_.plan.declaration;
  const std::uint64_t at = declaration.variables[variable].at + pass_.shift;
  const double start = now();
  declaration.pieces(variable).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t place) {
    if (!pass_.failed()) submit(offset + at, length, memory + place);
  });
  pass_.report.storage_s += now() - start;
}

void Direct::submit(std::uint64_t offset, std::uint64_t length, std::byte* memory) noexcept {
  Storage* storage = pass_.storage.get();
  if (!storage) return pass_.fail(pass_.storage.error());
  while (in_flight_ == most_ios) {
    storage->wait();
    collect();
  }
  Entry& entry = *std::find_if(ios_.begin(), ios_.end(), [](const Entry& e) { return !e.taken; });
  entry.io = {pass_.layout().direction == Direction::write ? Io::Kind::write : Io::Kind::read, memory, offset, length};
  entry.taken = true;
  ++in_flight_;
  ++pass_.report.storage_calls;
  if (entry.io.kind == Io::Kind::write && pass_.storage.fresh()) storage->expect(offset, length);
  storage->submit(entry.io);
  if (entry.io.finished) collect();
}

bool Direct::progress() noexcept {
  if (in_flight_ == 0) return false;
  pass_.storage.get()->poll();
  const std::size_t before = in_flight_;
  collect();
  return in_flight_ != before;
}

void Direct::collect() noexcept {
  for (Entry& entry : ios_) {
    if (!entry.taken || !entry.io.finished) continue;
    entry.taken = false;
    --in_flight_;
    pass_.report.bytes += entry.io.done;
    pass_.report.stored_bytes += entry.io.done;
    pass_.outcome.bytes += entry.io.done;
    if (entry.io.error != 0 || entry.io.done < entry.io.length) pass_.fail_io(entry.io);
  }
}

}  // namespace weir
