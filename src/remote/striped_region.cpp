#include "remote/striped_region.hpp"

#include <algorithm>

#include "remote/server_link.hpp"

namespace weir {
namespace {

class StripedRegion final : public RemoteRegion {
 public:
  StripedRegion(std::vector<std::unique_ptr<RemoteRegion>> parts, const RegionPart& shape)
      : parts_{std::move(parts)}, size_{shape.whole}, stripe_{shape.stripe} {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::byte* mapped() const noexcept override { return nullptr; }

  Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept override {
    return by_stripe(offset, bytes, [&](RemoteRegion& part, std::uint64_t at, std::uint64_t done, std::uint64_t length) {
      return part.put(at, data + done, length);
    });
  }
  Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept override {
    return by_stripe(offset, bytes, [&](RemoteRegion& part, std::uint64_t at, std::uint64_t done, std::uint64_t length) {
      return part.get(at, data + done, length);
    });
  }

 private:
  template <class Move>
  Status by_stripe(std::uint64_t offset, std::uint64_t bytes, Move&& move) noexcept {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t stripe = (offset + done) / stripe_, within = (offset + done) % stripe_;
      const std::uint64_t length = std::min(stripe_ - within, bytes - done);
      const std::uint64_t at = stripe / parts_.size() * stripe_ + within;
      if (Status status = move(*parts_[stripe % parts_.size()], at, done, length); !status) return status;
      done += length;
    }
    return {};
  }

  std::vector<std::unique_ptr<RemoteRegion>> parts_;
  std::uint64_t size_, stripe_;
};

}  // namespace

std::uint64_t bytes_of_part(const RegionPart& part) noexcept {
  if (part.parts <= 1 || part.stripe == 0) return part.whole;
  const std::uint64_t whole_stripes = part.whole / part.stripe;
  const std::uint64_t mine = whole_stripes / part.parts + (part.part < whole_stripes % part.parts);
  return mine * part.stripe + (part.part == whole_stripes % part.parts ? part.whole % part.stripe : 0);
}

std::unique_ptr<RemoteRegion> make_striped_region(std::vector<std::unique_ptr<RemoteRegion>> parts,
                                                  const RegionPart& shape) {
  return std::make_unique<StripedRegion>(std::move(parts), shape);
}

}  // namespace weir
