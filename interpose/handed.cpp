#include "handed.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "storage/storage_problem.hpp"
#include "storage/transfer.hpp"

namespace weir::interpose {

namespace {

Status store(int descriptor, const std::string& path, Io& io) {
  for (bool more = begin(io); more;) {
    const auto parts = static_cast<int>(std::min(io.parts.size(), Io::most_parts));
    const ssize_t moved = ::pwritev(descriptor, io.parts.data(), parts, static_cast<off_t>(io.offset + io.done));
    more = book(io, moved < 0 ? -errno : moved);
  }
  return io.error ? storage_problem(io.error, "write", path) : Status{};
}

}  // namespace

Status store_handed(Team& team, int descriptor, const std::string& path) {
  struct Piece {
    std::uint64_t at;
    iovec memory;
  };
  std::vector<Piece> pieces;
  for (int i = 0; i < team.local_size(); ++i) {
    const Team::Handed handed = team.handed_by(i);
    auto* data = const_cast<std::byte*>(handed.data.data());
    for (const auto& [at, bytes] : handed.pieces) {
      pieces.push_back({at, {data, bytes}});
      data += bytes;
    }
  }
  std::ranges::stable_sort(pieces, {}, &Piece::at);
  std::vector<iovec> parts(pieces.size());
  std::ranges::transform(pieces, parts.begin(), &Piece::memory);
  for (std::size_t first = 0, next = 0; first < pieces.size(); first = next) {
    Io io;
    io.offset = pieces[first].at;
    for (; next < pieces.size() && pieces[next].at == io.offset + io.length; ++next) io.length += parts[next].iov_len;
    io.parts = std::span{parts}.subspan(first, next - first);
    if (Status stored = store(descriptor, path, io); !stored.ok()) return stored;
  }
  return {};
}

}  // namespace weir::interpose
