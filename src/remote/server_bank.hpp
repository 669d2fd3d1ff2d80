#pragma once

#include <memory>

#include "memory/bank.hpp"
#include "remote/remote_memory.hpp"

namespace weir {

/// Memory of servers as a bank, by connections of its own; its memory is reached by put and get. A capacity that is not
/// described is that of the servers. One thread at a time.
Result<std::unique_ptr<MemoryBank>> make_server_bank(const Bank& described, const RemoteOptions& options);

/// Memory servers with so many bytes for each node, as a machine has them: nobody knows yet how fast they are.
Bank bank_of_servers(double capacity);

}  // namespace weir
