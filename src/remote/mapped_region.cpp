#include "remote/mapped_region.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {
namespace {

class MappedRegion final : public RemoteRegion {
 public:
  MappedRegion(std::shared_ptr<ServerLink> link, std::uint64_t id, std::byte* data, std::uint64_t size,
               std::uint64_t mapped)
      : link_{std::move(link)}, id_{id}, data_{data}, size_{size}, mapped_{mapped} {}
  ~MappedRegion() override {
    ::munmap(data_, mapped_);
    link_->release(id_);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::byte* mapped() const noexcept override { return data_; }

  Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept override {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    if (bytes > 0) std::memcpy(data_ + offset, data, bytes);
    link_->moved.put += bytes;
    return {};
  }
  Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept override {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    if (bytes > 0) std::memcpy(data, data_ + offset, bytes);
    link_->moved.got += bytes;
    return {};
  }

 private:
  std::shared_ptr<ServerLink> link_;
  std::uint64_t id_;
  std::byte* data_;
  std::uint64_t size_, mapped_;
};

}  // namespace

Result<std::unique_ptr<RemoteRegion>> map_region(std::shared_ptr<ServerLink> link, const RegionAnswer& answer,
                                                 Descriptor memory) {
  const auto failed = [&](int error) {
    link->release(answer.region);
    return problem(code_of(error), [&] {
      return fmt::format("cannot map {} of the memory server at {}: {}", format_bytes(answer.bytes),
                         link->connection->server(), reason_of(error));
    });
  };
  struct stat facts {};
  if (!memory || ::fstat(memory.get(), &facts) != 0) return failed(memory ? errno : EBADF);
  const auto whole = static_cast<std::uint64_t>(facts.st_size);  // a multiple of its pages, which may be huge
  if (whole < answer.bytes) return failed(ENOMEM);               // using it would be a signal
  void* at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory.get(), 0);
  if (at == MAP_FAILED) return failed(errno);
  return std::unique_ptr<RemoteRegion>{
      std::make_unique<MappedRegion>(std::move(link), answer.region, static_cast<std::byte*>(at), answer.bytes, whole)};
}

}  // namespace weir
