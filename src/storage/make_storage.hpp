#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "storage/storage.hpp"

namespace weir {

enum class Async;

/// From now on files of this kind, of those below, live elsewhere: in a simulation.
void replace_storage_kind(std::string_view kind, std::function<std::unique_ptr<StorageSystem>(Async)> make);

/// The storage system that settings name.
///
/// `kind` is posix, null or memory; `async` is auto, plain or uring and matters to posix only; `fault_rules` is as in
/// FaultyStorageSystem, empty for none. A name that is not allowed is `Code::settings`, uring that was built out
/// `Code::unsupported`.
Result<std::unique_ptr<StorageSystem>> make_storage_system(std::string_view kind, std::string_view async = "auto",
                                                           std::string_view fault_rules = {}, int rank = 0);

}  // namespace weir
