#include "machine/posix_traits.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/paths.hpp"

namespace weir {
namespace {

struct KnownFileSystem {
  std::uint32_t magic;  // statfs(2), linux/magic.h and the file systems' own sources
  const char* name;
  bool local;
  bool coherent = true;  // nodes that write parts of one page do not undo one another's
};

constexpr KnownFileSystem file_systems[] = {
    {0xEF53, "ext4", true},       {0x58465342, "xfs", true},       {0x01021994, "tmpfs", true},
    {0x858458F6, "ramfs", true},  {0x9123683E, "btrfs", true},     {0x794C7630, "overlayfs", true},
    {0xF2F52010, "f2fs", true},   {0x2FC12FC1, "zfs", true},       {0xCA451A4E, "bcachefs", true},
    {0x4D44, "vfat", true},       {0x2011BAB0, "exfat", true},     {0x958458F6, "hugetlbfs", true},
    {0x6969, "nfs", false, false},       {0x0BD00BD0, "lustre", false},   {0x47504653, "gpfs", false},
    {0x00C36400, "ceph", false},  {0x19830326, "beegfs", false},   {0x65735546, "fuse", false, false},
    {0x01021997, "9p", false, false},    {0xFE534D42, "smb2", false, false},     {0xFF534D42, "cifs", false, false},
    {0x5346414F, "afs", false, false},   {0x20030528, "orangefs", false}, {0x01161970, "gfs2", false},
    {0xAAD7AAEA, "panfs", false}, {0x7461636F, "ocfs2", false},
};

constexpr std::uint64_t lustre_default_stripe = std::uint64_t{1} << 20;

std::uint64_t stripe_of_lustre_file(const char* path) noexcept {
  std::array<std::byte, 65536> attribute;  // XATTR_SIZE_MAX
  const ssize_t got = getxattr(path, "lustre.lov", attribute.data(), attribute.size());
  const std::uint64_t stripe = got < 0 ? 0 : lustre_stripe(std::span{attribute}.first(static_cast<std::size_t>(got)));
  return stripe ? stripe : lustre_default_stripe;
}

/// CephFS gives the size of its objects as the block also where files are striped more finely; 0: it is no CephFS.
std::uint64_t stripe_of_ceph_file(const char* path) noexcept {
  for (const char* attribute : {"ceph.file.layout.stripe_unit", "ceph.dir.layout.stripe_unit"}) {
    std::array<char, 24> text;
    const ssize_t got = getxattr(path, attribute, text.data(), text.size());
    std::uint64_t stripe = 0;
    if (got > 0 && std::from_chars(text.data(), text.data() + got, stripe).ec == std::errc{}) return stripe;
  }
  return 0;
}

}  // namespace

std::uint64_t lustre_stripe(std::span<const std::byte> attribute) noexcept {
  // struct lov_user_md_v1 of lustre_user.h; v3 begins in the same way. Composite layouts (v6) have several sizes.
  struct Layout {
    std::uint32_t magic, pattern;
    std::uint64_t object[2];
    std::uint32_t stripe_size;
  } layout;
  constexpr std::size_t needed = offsetof(Layout, stripe_size) + sizeof layout.stripe_size;
  if (attribute.size() < needed) return 0;
  std::memcpy(&layout, attribute.data(), needed);
  const bool plain = layout.magic == 0x0BD10BD0 || layout.magic == 0x0BD30BD0;
  return plain ? layout.stripe_size : 0;
}

bool is_local_file_system(std::string_view kind) noexcept {
  return std::ranges::any_of(file_systems, [&](const KnownFileSystem& known) { return known.local && kind == known.name; });
}

StorageTraits posix_traits(const std::string& path) {
  StorageTraits traits{.kind = "posix", .file_system = "unknown", .local = false, .coherent = false};
  struct statfs system {};
  std::string known = path;
  if (statfs(known.c_str(), &system) != 0) {
    known = directory_of(path);
    if (statfs(known.c_str(), &system) != 0) return traits;
  }
  const auto magic = static_cast<std::uint32_t>(system.f_type);
  const auto* found = std::ranges::find(file_systems, magic, &KnownFileSystem::magic);
  if (found != std::end(file_systems)) {
    traits.file_system = found->name;
    traits.local = found->local;
    traits.coherent = found->coherent;
  }
  struct stat status {};
  const bool stated = stat(known.c_str(), &status) == 0;
  const auto block = std::max<std::int64_t>(system.f_bsize, stated ? status.st_blksize : 0);
  if (block > 0) traits.block = static_cast<std::uint64_t>(block);
  if (traits.file_system == "lustre") traits.stripe = stripe_of_lustre_file(known.c_str());
  if (traits.file_system == "ceph" || traits.file_system == "fuse") traits.stripe = stripe_of_ceph_file(known.c_str());
  if (traits.file_system == "fuse" && traits.stripe > 0) traits.coherent = true;  // it is a CephFS
  return traits;
}

}  // namespace weir
