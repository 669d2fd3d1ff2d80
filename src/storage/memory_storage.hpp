#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "storage/storage.hpp"

namespace weir {

/// The content of a file in memory: pages that were written, zeros between them.
struct MemoryFile {
  static constexpr std::uint64_t page_size = 4096;
  using Page = std::array<std::byte, page_size>;
  std::map<std::uint64_t, Page> pages;
  std::uint64_t size = 0;
};

/// Files in this process' memory: slow, obvious, the reference for the others. One thread at a time.
///
/// There are no directories; a path is a name. Systems made with the same `files` see one another's. Unlike other
/// storages, a write takes memory and may fail with ENOMEM.
class MemoryStorageSystem final : public StorageSystem {
 public:
  using Files = std::map<std::string, std::shared_ptr<MemoryFile>>;
  explicit MemoryStorageSystem(std::shared_ptr<Files> files = std::make_shared<Files>()) : files_{std::move(files)} {}

  StorageTraits traits(const std::string& path) override;
  Result<std::unique_ptr<Storage>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string&) override { return {}; }
  bool set_transfer_hook(std::shared_ptr<TransferHook> hook) override {
    hook_ = std::move(hook);
    return true;
  }

 private:
  std::shared_ptr<Files> files_;
  std::shared_ptr<TransferHook> hook_;
};

}  // namespace weir
