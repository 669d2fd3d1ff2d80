#pragma once

#include <memory>

#include "simulated_machine.hpp"
#include "storage/memory_storage.hpp"

namespace weir::sim {

/// Files whose contents are kept in memory, and whose transfers take the time that the machine's way to its storage
/// takes. All ranks have one, made with the same `files`.
std::unique_ptr<StorageSystem> simulated_storage(SimulatedMachine& machine,
                                                 std::shared_ptr<MemoryStorageSystem::Files> files);

}  // namespace weir::sim
