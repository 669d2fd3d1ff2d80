#include "remote/lent_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "core/errors.hpp"
#include "machine/local_device.hpp"
#include "memory/huge_page_bank.hpp"
#include "memory/mapped_bank.hpp"
#include "remote/protocol.hpp"

namespace weir {

Result<LentMemory> LentMemory::make(const MemoryServerOptions& options) {
  const std::string& directory = options.directory;
  BankAttributes attributes;
  attributes.name = attributes.kind = directory.empty() ? "dram" : "mapped";
  attributes.capacity = options.size;
  if (directory.empty() && options.huge_pages) return LentMemory{std::make_unique<HugePageBank>(std::move(attributes))};
  if (directory.empty()) return LentMemory{std::make_unique<DramBank>(std::move(attributes))};
  if (auto usable = bank_in_directory(directory); !usable) return usable.status();
  return LentMemory{std::make_unique<MappedBank>(std::move(attributes), directory)};
}

std::uint64_t LentMemory::features() const noexcept {
  return MemoryFeature::mapped | MemoryFeature::socket | (UcxLender::is_built_in() ? MemoryFeature::ucx : 0);
}

Status LentMemory::allocate(std::uint64_t region, const AllocateRequest& request) {
  auto memory = bank_->allocate(request.bytes);
  if (!memory) return {Code::no_memory, memory.status().message()};
  // Nobody can shrink it under a client that has it mapped. Files in a directory have no seals.
  ::fcntl(memory->address().descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  ::madvise(memory->data(), memory->size(), MADV_DONTFORK);  // a client's process has only what that may reach
  regions_.emplace(region, Region{*std::move(memory), request.bytes, request.part});
  return {};
}

Result<Answer> LentMemory::lend(std::uint64_t region, const Session& session, std::uint64_t access,
                                FrameServer& server) {
  const auto& [memory, bytes, part] = regions_.at(region);
  RegionAnswer answer;
  answer.region = region;
  answer.bytes = bytes;
  answer.part = part;
  if ((access & MemoryFeature::mapped) && session.local) {
    Descriptor lent{::fcntl(memory.address().descriptor, F_DUPFD_CLOEXEC, 0)};
    if (!lent) return problem(Code::no_memory, "cannot lend memory: the server has no descriptor left");
    return Answer{MemoryMessage::region, answer.encode(), std::move(lent)};
  }
  if (access & MemoryFeature::ucx) {
    if (!ucx_) ucx_ = UcxLender::make(server);
    if (Status status = ucx_->lend(session.id, memory.address().descriptor, answer); !status) return status;
    return Answer{MemoryMessage::region, answer.encode()};
  }
  if (access & MemoryFeature::socket) {
    if (!sockets_) {
      auto made = SocketLender::make();
      if (!made) return made.status();
      sockets_ = *std::move(made);
    }
    if (Status status = sockets_->lend(session.id, {memory.data(), bytes}, answer); !status) return status;
    return Answer{MemoryMessage::region, answer.encode()};
  }
  return problem(Code::unsupported, "cannot lend memory: the server and this client have no way in common to reach it");
}

Status LentMemory::join(const Ticket& ticket, Descriptor socket) {
  if (!sockets_) return problem(Code::access, "the server refuses a connection for data: it lends no memory that way");
  return sockets_->join(ticket, std::move(socket));
}

void LentMemory::free(std::uint64_t region) noexcept {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return;
  if (ucx_) ucx_->free(region);
  if (sockets_) sockets_->free(region);
  // A client that was given up may still have it mapped: the memory goes back all the same.
  ::fallocate(found->second.memory.address().descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(found->second.memory.size()));
  regions_.erase(found);
}

void LentMemory::left(const Session& session) noexcept {
  if (ucx_) ucx_->left(session.id);
  if (sockets_) sockets_->left(session.id);
}

}  // namespace weir
