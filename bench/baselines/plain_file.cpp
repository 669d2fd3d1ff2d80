#include "plain_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/errors.hpp"

namespace weir::bench {
namespace {

[[noreturn]] void fail(int error, const std::string& action) { throw Error{system_problem(error, action)}; }

}  // namespace

PlainFile::PlainFile(std::string path, int flags)
    : path_{std::move(path)}, file_{::open(path_.c_str(), flags | O_CLOEXEC, 0666)} {
  if (file_ < 0) fail(errno, "open '" + path_ + "'");
}

PlainFile::~PlainFile() {
  if (file_ >= 0) ::close(file_);
}

void PlainFile::transfer(Operation operation, std::byte* data, Piece piece) const {
  while (piece.length > 0) {
    const auto offset = static_cast<off_t>(piece.offset);
    const ssize_t moved = operation == Operation::write ? ::pwrite(file_, data, piece.length, offset)
                                                        : ::pread(file_, data, piece.length, offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) fail(moved < 0 ? errno : ENODATA, "move a piece of '" + path_ + "'");
    data += moved;
    piece.offset += static_cast<std::uint64_t>(moved);
    piece.length -= static_cast<std::uint64_t>(moved);
  }
}

void PlainFile::close() {
  if (::close(std::exchange(file_, -1)) != 0) fail(errno, "close '" + path_ + "'");
}

}  // namespace weir::bench
