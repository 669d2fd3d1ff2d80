#include "remote/server_bank.hpp"

#include <cstring>

#include "core/errors.hpp"
#include "net/secret.hpp"

namespace weir {
namespace {

class FarRegion final : public FarMemory {
 public:
  FarRegion(std::shared_ptr<RemoteMemory> servers, std::unique_ptr<RemoteRegion> region)
      : servers_{std::move(servers)}, region_{std::move(region)} {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return region_->size(); }
  Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept override {
    return region_->put(offset, data, bytes);
  }
  Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept override {
    if (Status status = region_->get(offset, data, bytes); !status) return status;
    return servers_->flush();
  }
  Status flush() noexcept override { return servers_->flush(); }

 private:
  std::shared_ptr<RemoteMemory> servers_;
  std::unique_ptr<RemoteRegion> region_;
};

class ServerBank final : public MemoryBank {
 public:
  ServerBank(BankAttributes attributes, std::shared_ptr<RemoteMemory> servers, const RegionName& name)
      : MemoryBank{std::move(attributes)}, servers_{std::move(servers)}, name_{name} {}

 protected:
  Result<BankMemory> take(std::uint64_t bytes) override {
    ++name_.serial;
    auto region = servers_->allocate(name_, bytes);
    if (!region) return region.status();
    return BankMemory{std::make_unique<FarRegion>(servers_, *std::move(region))};
  }

 private:
  std::shared_ptr<RemoteMemory> servers_;
  RegionName name_;
};

}  // namespace

Result<std::unique_ptr<MemoryBank>> make_server_bank(const Bank& described, const RemoteOptions& options) {
  auto servers = connect_remote_memory(options);
  if (!servers) return servers.status();
  BankAttributes attributes = BankAttributes::of(described);
  if (attributes.capacity == 0) {
    auto capacity = (*servers)->capacity();
    if (!capacity) return capacity.status();
    attributes.capacity = *capacity;
  }
  RegionName name;
  auto key = random_bytes<sizeof name.key>();
  if (!key) return key.status();
  std::memcpy(name.key, key->data(), sizeof name.key);
  return std::unique_ptr<MemoryBank>{std::make_unique<ServerBank>(std::move(attributes), *std::move(servers), name)};
}

Bank bank_of_servers(double capacity) {
  Bank bank;
  bank.name = bank.kind = "remote";
  bank.scope = Scope::network;
  bank.persistency = Persistency::process;
  bank.capacity = {capacity, Origin::system, "of memory servers"};
  return bank;
}

}  // namespace weir
