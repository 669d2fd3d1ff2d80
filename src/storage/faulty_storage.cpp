#include "storage/faulty_storage.hpp"

#include <utility>

#include "core/errors.hpp"
#include "storage/storage_problem.hpp"

namespace weir {
namespace {

class FaultyStorage final : public Storage {
 public:
  FaultyStorage(std::unique_ptr<Storage> inner, std::shared_ptr<FaultRules> rules) noexcept
      : inner_{std::move(inner)}, rules_{std::move(rules)} {}

  void submit(Io& io) noexcept override {
    const bool flip = rules_->flips(io.kind);
    const bool in_parts = !io.parts.empty();
    std::byte* const first = in_parts ? static_cast<std::byte*>(io.parts.front().iov_base) : io.data;
    inner_->submit(io);
    if (!flip) return;
    finish(io);
    const std::uint64_t at = in_parts ? 0 : io.done / 2;
    if (io.done > 0) damage(io, first + at, at);
  }
  [[nodiscard]] bool takes_parts() const noexcept override { return inner_->takes_parts(); }
  std::size_t poll() noexcept override { return inner_->poll(); }
  void wait() noexcept override { inner_->wait(); }
  void expect(std::uint64_t offset, std::uint64_t length) noexcept override { inner_->expect(offset, length); }
  int sync() noexcept override {
    const int error = rules_->error_for(FaultOp::sync);
    return error ? error : inner_->sync();
  }
  int close() noexcept override {
    const int injected = rules_->error_for(FaultOp::close);
    const int error = inner_->close();
    return injected ? injected : error;
  }
  std::size_t peek(std::span<std::byte> beginning, bool kept) noexcept override { return inner_->peek(beginning, kept); }
  std::int64_t size() noexcept override { return inner_->size(); }

 private:
  void finish(Io& io) noexcept {
    while (!io.finished) inner_->wait();
  }

  /// The byte `at` of a finished transfer, and where it is in memory.
  void damage(const Io& io, std::byte* memory, std::uint64_t at) noexcept {
    std::byte flipped = *memory ^ std::byte{0x10};
    if (io.kind == Io::Kind::read) {
      *memory = flipped;
      return;
    }
    Io spoil{.kind = Io::Kind::write, .data = &flipped, .offset = io.offset + at, .length = 1};
    inner_->submit(spoil);
    finish(spoil);
  }

  std::unique_ptr<Storage> inner_;
  std::shared_ptr<FaultRules> rules_;
};

}  // namespace

FaultyStorageSystem::FaultyStorageSystem(std::unique_ptr<StorageSystem> inner,
                                         std::shared_ptr<FaultRules> rules) noexcept
    : inner_{std::move(inner)}, rules_{std::move(rules)} {}

Result<std::unique_ptr<FaultyStorageSystem>> FaultyStorageSystem::make(std::unique_ptr<StorageSystem> inner,
                                                                       std::string_view rules, int rank) {
  auto parsed = FaultRules::parse(rules, rank);
  if (!parsed) return parsed.status();
  if (!inner->set_transfer_hook(*parsed) && (*parsed)->meets_transfers()) {
    return problem(Code::unsupported, "cannot inject faults into reads and writes of this storage",
                   "it has no place for a TransferHook: give it one, or keep to the other operations");
  }
  return std::unique_ptr<FaultyStorageSystem>{new FaultyStorageSystem{std::move(inner), *std::move(parsed)}};
}

Result<std::unique_ptr<Storage>> FaultyStorageSystem::open(const std::string& path, OpenMode mode) {
  if (const int error = rules_->error_for(FaultOp::open)) return storage_problem(error, "open", path);
  auto file = inner_->open(path, mode);
  if (!file) return file;
  return std::unique_ptr<Storage>{std::make_unique<FaultyStorage>(*std::move(file), rules_)};
}

Status FaultyStorageSystem::rename(const std::string& from, const std::string& to) {
  const int error = rules_->error_for(FaultOp::rename);
  return error ? storage_problem(error, "rename", from, " to '" + to + "'") : inner_->rename(from, to);
}

Status FaultyStorageSystem::remove(const std::string& path) {
  const int error = rules_->error_for(FaultOp::remove);
  return error ? storage_problem(error, "remove", path) : inner_->remove(path);
}

Status FaultyStorageSystem::sync_directory(const std::string& path) {
  const int error = rules_->error_for(FaultOp::syncdir);
  return error ? storage_problem(error, "sync directory", directory_of(path)) : inner_->sync_directory(path);
}

}  // namespace weir
