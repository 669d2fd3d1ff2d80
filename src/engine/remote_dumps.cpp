#include "engine/remote_dumps.hpp"

#include <new>

namespace weir {

std::shared_ptr<RemoteDump> RemoteDumps::of(std::uint64_t plan_serial, RegionName& next) noexcept try {
  for (const auto& dump : dumps_)
    if (dump->plan_serial == plan_serial) return dump;
  ++next.serial;
  auto dump = std::make_shared<RemoteDump>();
  dump->plan_serial = plan_serial;
  dump->name = next;
  dump->name.key[1] ^= plan_serial;  // a rank that missed one must not meet another plan's
  if (dumps_.size() == most) dumps_.erase(dumps_.begin());
  dumps_.push_back(dump);
  return dump;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace weir
