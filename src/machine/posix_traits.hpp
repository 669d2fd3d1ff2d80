#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "machine/storage_traits.hpp"

namespace weir {

/// What the system tells about the file system of `path`; of its directory when there is no such file yet.
StorageTraits posix_traits(const std::string& path);

/// The stripe size in a `lustre.lov` attribute; 0 when it has none that is the same for the whole file.
std::uint64_t lustre_stripe(std::span<const std::byte> attribute) noexcept;

/// Whether files of such a file system are on the node itself.
bool is_local_file_system(std::string_view kind) noexcept;

}  // namespace weir
