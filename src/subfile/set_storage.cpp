#include "subfile/set_storage.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "storage/complete.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

namespace {

/// A mark as it is written.
struct Mark {
  static constexpr std::array<char, 8> right{'w', 'e', 'i', 'r', 's', 'u', 'b', '1'};
  std::array<char, 8> magic = right;
  SubFileMark content;
};
static_assert(sizeof(Mark) == SubFileMark::size);

int errno_of(Code code) noexcept {
  return code == Code::no_memory ? ENOMEM : EIO;  // only to tell that it failed: the status says more
}

}  // namespace

std::string SubFiles::name(std::uint32_t file) const {
  return fmt::format("{}.{:08x}.{:04}", stem, id >> 32, number(file));
}

Status SubFiles::remove_all(StorageSystem& system) const {
  Status first;
  for (std::uint32_t file = 0; file < space.files; ++file)
    if (Status status = system.remove(name(file)); !status.ok() && first.ok()) first = status;
  return first;
}

SetStorage::SetStorage(StorageSystem& system, const SubFiles& files, OpenMode mode, Status& problem)
    : system_{system}, files_{files}, mode_{mode}, problem_{problem} {
  open_.reserve(most_open);
}

Status SetStorage::create(std::uint32_t file) {
  auto opened = system_.open(files_.name(file), OpenMode::create);
  if (!opened) return opened.status();
  open_.push_back({file, std::move(*opened)});
  return {};
}

Status SetStorage::seal(std::uint32_t file, std::uint64_t bytes) {
  int error = 0;
  Open* open = get(file, error);
  if (!open) return problem_;
  Mark mark{.content = {files_.id, file, bytes}};
  Io io{.kind = Io::Kind::write, .data = reinterpret_cast<std::byte*>(&mark), .offset = bytes, .length = sizeof mark};
  complete(*open->storage, io);
  return io.error == 0 ? Status{} : storage_problem(io.error, "write", files_.name(file));
}

Status SetStorage::probe(std::uint32_t file) noexcept {
  int error = 0;
  return get(file, error) ? Status{} : problem_;
}

Result<std::optional<SubFileMark>> SubFileMark::read(Storage& storage, const std::string& path) {
  const std::int64_t size = storage.size();
  if (size < 0) return storage_problem(errno, "read", path);
  const auto length = static_cast<std::uint64_t>(size);
  if (length < sizeof(Mark)) return std::optional<SubFileMark>{};
  Mark mark;
  Io io{Io::Kind::read, reinterpret_cast<std::byte*>(&mark), length - sizeof mark, sizeof mark};
  complete(storage, io);
  if (io.error != 0) return storage_problem(io.error, "read", path);
  const bool right = io.done == sizeof mark && mark.magic == Mark::right && mark.content.bytes + sizeof mark == length;
  return right ? std::optional{mark.content} : std::nullopt;
}

Status SetStorage::check_mark(std::uint32_t file, Storage& storage) const {
  const std::uint64_t bytes = files_.bytes[file];
  const auto wrong = [&](const std::string& reason) {
    return problem(Code::corrupt, fmt::format("cannot read '{}': {}", files_.name(file), reason),
                   "bring the sub-file that was written with the others, or write the set again");
  };
  const std::int64_t size = storage.size();
  if (size < 0) return storage_problem(errno, "read", files_.name(file));
  if (static_cast<std::uint64_t>(size) != bytes + sizeof(Mark))
    return wrong(fmt::format("it has {} bytes, and should have {}", size, bytes + sizeof(Mark)));
  auto mark = SubFileMark::read(storage, files_.name(file));
  if (!mark) return mark.status();
  return *mark == SubFileMark{files_.id, files_.number(file), bytes} ? Status{} : wrong("it is not the sub-file of this set");
}

void SetStorage::make_room() {
  if (open_.size() < most_open) return;
  const auto idle = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
    return std::none_of(under_way_.begin(), under_way_.end(), [&](const UnderWay& u) { return u.file == open.file; });
  });
  if (idle != open_.end()) open_.erase(idle);
}

Status SetStorage::open(std::uint32_t file) {
  if (mode_ == OpenMode::read) make_room();  // what is written must be closed with success, so it stays
  auto opened = system_.open(files_.name(file), mode_);
  if (!opened) return opened.status();
  if (mode_ == OpenMode::read)
    if (Status status = check_mark(file, **opened); !status.ok()) return status;
  open_.push_back({file, std::move(*opened)});
  if (mode_ == OpenMode::read && files_.index) open_.back().verifier.emplace(files_.index->stored_in(file));
  return {};
}

SetStorage::Open* SetStorage::get(std::uint32_t file, int& error) noexcept {
  try {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.file == file; });
    if (found != open_.end()) {
      std::rotate(found, found + 1, open_.end());
      return &open_.back();
    }
    Status status = open(file);
    if (status.ok()) return &open_.back();
    problem_ = std::move(status);
  } catch (const std::bad_alloc&) {
    problem_ = problem(Code::no_memory, "cannot open a sub-file: out of memory");
  }
  error = errno_of(problem_.code());
  return nullptr;
}

void SetStorage::submit(Io& io) noexcept {
  const std::uint32_t file = files_.space.file_at(io.offset);
  int error = 0;
  Open* open = get(file, error);
  if (open) {
    try {
      under_way_.push_back({&io, file});
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
  }
  if (error != 0) {
    io.done = 0;
    io.error = error;
    io.finished = true;
    return;
  }
  io.offset = files_.space.inside(io.offset);
  io.finished = false;
  open->storage->submit(io);
  settle();
}

void SetStorage::verify(std::uint32_t file, Io& io) noexcept {
  int error = 0;
  Open* open = get(file, error);  // it is open: there was a transfer
  Extent bad{};
  if (open->verifier) error = open->verifier->check(*open->storage, io.offset, {io.data, io.done}, bad);
  if (error == 0) return;
  io.done = 0;
  io.error = EIO;
  problem_ = attempt("verify a sub-file", [&] {
    return error == EILSEQ
               ? problem(Code::corrupt,
                         fmt::format("cannot read '{}': {} at offset {} are not what was written there", files_.name(file),
                                     format_bytes(bad.length), bad.offset),
                         "the storage has changed them: take another copy of the set, or write it again")
               : storage_problem(error, "read", files_.name(file));
  });
}

void SetStorage::settle() noexcept {
  // One after another: to verify one may finish others.
  for (;;) {
    const auto found = std::find_if(under_way_.begin(), under_way_.end(), [](const UnderWay& u) { return u.io->finished; });
    if (found == under_way_.end()) return;
    const UnderWay done = *found;
    under_way_.erase(found);
    if (mode_ == OpenMode::read && done.io->error == 0) verify(done.file, *done.io);
    done.io->offset += files_.space.base(done.file);
  }
}

std::size_t SetStorage::poll() noexcept {
  if (under_way_.empty()) return 0;
  for (Open& open : open_) open.storage->poll();
  settle();
  return under_way_.size();
}

void SetStorage::wait() noexcept {
  if (under_way_.empty()) return;
  int error = 0;
  get(under_way_.front().file, error)->storage->wait();
  settle();
}

int SetStorage::sync() noexcept {
  int first = 0;
  for (Open& open : open_)
    if (const int error = open.storage->sync(); error != 0 && first == 0) first = error;
  return first;
}

int SetStorage::close() noexcept {
  int first = 0;
  for (Open& open : open_)
    if (const int error = open.storage->close(); error != 0 && first == 0) first = error;
  open_.clear();
  settle();
  return first;
}

std::int64_t SetStorage::size() noexcept {
  std::int64_t total = 0;
  for (Open& open : open_) {
    const std::int64_t size = open.storage->size();
    if (size < 0) return size;
    total += size;
  }
  return total;
}

}  // namespace weir
