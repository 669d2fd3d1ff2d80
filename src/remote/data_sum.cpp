#include "remote/data_sum.hpp"

namespace weir {

void DataSum::restart() noexcept { XXH3_64bits_reset(&state_); }
void DataSum::add(std::span<const std::byte> part) noexcept { XXH3_64bits_update(&state_, part.data(), part.size()); }
std::uint64_t DataSum::value() const noexcept { return XXH3_64bits_digest(&state_); }
std::uint64_t DataSum::of(std::span<const std::byte> all) noexcept { return XXH3_64bits(all.data(), all.size()); }

}  // namespace weir
