#include "storage/make_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "storage/faulty_storage.hpp"
#include "storage/memory_storage.hpp"
#include "storage/null_storage.hpp"
#include "storage/posix_storage.hpp"

namespace weir {
namespace {

struct AsyncName {
  std::string_view name;
  Async async;
};

constexpr AsyncName async_names[] = {{"auto", Async::any}, {"plain", Async::plain}, {"uring", Async::uring}};

struct Kind {
  std::string_view name;
  std::function<std::unique_ptr<StorageSystem>(Async)> make;
};

std::vector<Kind>& kinds() {
  static std::vector<Kind> all{
      {"posix", [](Async async) { return std::make_unique<PosixStorageSystem>(async); }},
      {"null", [](Async) { return std::make_unique<NullStorageSystem>(); }},
      {"memory",
       [](Async) {
         // What one open of a file leaves in memory, the next one finds.
         static const auto files = std::make_shared<MemoryStorageSystem::Files>();
         return std::make_unique<MemoryStorageSystem>(files);
       }},
  };
  return all;
}

template <class Table>
Status unknown_name(const char* what, std::string_view name, const Table& table) {
  std::string allowed;
  for (const auto& row : table) allowed += fmt::format("{}{}", allowed.empty() ? "allowed are " : ", ", row.name);
  return problem(Code::settings, fmt::format("cannot use {} '{}': there is none of this name", what, name), allowed);
}

}  // namespace

void replace_storage_kind(std::string_view kind, std::function<std::unique_ptr<StorageSystem>(Async)> make) {
  std::ranges::find(kinds(), kind, &Kind::name)->make = std::move(make);
}

Result<std::unique_ptr<StorageSystem>> make_storage_system(std::string_view kind, std::string_view async,
                                                           std::string_view fault_rules, int rank) {
  const auto known_kind = std::ranges::find(kinds(), kind, &Kind::name);
  if (known_kind == kinds().end()) return unknown_name("storage kind", kind, kinds());
  const auto* known_async = std::ranges::find(async_names, async, &AsyncName::name);
  if (known_async == std::end(async_names)) return unknown_name("asynchronous way", async, async_names);
  if (known_async->async == Async::uring && !built_with_uring()) {
    return problem(Code::unsupported, "cannot use 'uring': this Weir was built without liburing",
                   "use plain or auto, or build with liburing's headers installed");
  }
  auto system = known_kind->make(known_async->async);
  if (fault_rules.empty()) return system;
  auto faulty = FaultyStorageSystem::make(std::move(system), fault_rules, rank);
  if (!faulty) return faulty.status();
  return std::unique_ptr<StorageSystem>{*std::move(faulty)};
}

}  // namespace weir
