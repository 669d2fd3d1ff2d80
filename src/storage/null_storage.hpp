#pragma once

#include <memory>
#include <string>
#include <utility>

#include "storage/storage.hpp"

namespace weir {

/// Files that are as large as what was written through this handle, and hold only zeros without end.
class NullStorage final : public Storage {
 public:
  explicit NullStorage(std::shared_ptr<TransferHook> hook) noexcept : hook_{std::move(hook)} {}

  void submit(Io& io) noexcept override;
  std::size_t poll() noexcept override { return 0; }
  void wait() noexcept override {}
  [[nodiscard]] bool takes_parts() const noexcept override { return true; }
  int sync() noexcept override;
  int close() noexcept override;
  std::int64_t size() noexcept override;

 private:
  std::shared_ptr<TransferHook> hook_;
  std::uint64_t size_ = 0;
  bool open_ = true;
};

/// Takes every write and keeps nothing; every name exists. Measures all of Weir but the storage.
class NullStorageSystem final : public StorageSystem {
 public:
  StorageTraits traits(const std::string& path) override;
  Result<std::unique_ptr<Storage>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string&, const std::string&) override { return {}; }
  Status remove(const std::string&) override { return {}; }
  Status sync_directory(const std::string&) override { return {}; }
  bool set_transfer_hook(std::shared_ptr<TransferHook> hook) override {
    hook_ = std::move(hook);
    return true;
  }

 private:
  std::shared_ptr<TransferHook> hook_;
};

}  // namespace weir
