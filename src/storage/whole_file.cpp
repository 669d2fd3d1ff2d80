#include "storage/whole_file.hpp"

#include <cerrno>

#include "storage/complete.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

Result<std::vector<std::byte>> read_whole(StorageSystem& system, const std::string& path) {
  auto opened = system.open(path, OpenMode::read);
  if (!opened) return opened.status();
  const std::int64_t size = (*opened)->size();
  if (size < 0) return storage_problem(errno, "read", path);
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  Io io{.kind = Io::Kind::read, .data = content.data(), .offset = 0, .length = content.size()};
  complete(**opened, io);
  if (io.error != 0) return storage_problem(io.error, "read", path);
  content.resize(io.done);
  return content;
}

Status write_whole(StorageSystem& system, const std::string& path, std::span<const std::byte> content, bool durable) {
  auto opened = system.open(path, OpenMode::create);
  if (!opened) return opened.status();
  Io io{.kind = Io::Kind::write, .data = const_cast<std::byte*>(content.data()), .offset = 0, .length = content.size()};
  complete(**opened, io);
  Status status;
  if (io.error != 0) status = storage_problem(io.error, "write", path);
  if (durable && status.ok())
    if (const int error = (*opened)->sync()) status = storage_problem(error, "sync", path);
  if (const int error = (*opened)->close(); error != 0 && status.ok()) status = storage_problem(error, "close", path);
  if (!status.ok()) (void)system.remove(path);
  return status;
}

}  // namespace weir
