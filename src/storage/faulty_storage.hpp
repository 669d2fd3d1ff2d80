#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/fault_rules.hpp"
#include "storage/storage.hpp"

namespace weir {

/// Another storage system with faults in it, by rules as in `FaultRules`: "op=write error=ENOSPC after=3 times=1
/// rank=2".
///
/// A transfer that is to be flipped is finished when `submit` returns; the caller's memory of a write stays as it is.
class FaultyStorageSystem final : public StorageSystem {
 public:
  /// `rank` is what a rule's rank is compared with.
  static Result<std::unique_ptr<FaultyStorageSystem>> make(std::unique_ptr<StorageSystem> inner, std::string_view rules,
                                                           int rank = 0);

  StorageTraits traits(const std::string& path) override { return inner_->traits(path); }
  Result<std::unique_ptr<Storage>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string& path) override;

  /// How often any rule has fired.
  [[nodiscard]] std::uint64_t fired() const noexcept { return rules_->fired(); }

 private:
  FaultyStorageSystem(std::unique_ptr<StorageSystem> inner, std::shared_ptr<FaultRules> rules) noexcept;

  std::unique_ptr<StorageSystem> inner_;
  std::shared_ptr<FaultRules> rules_;
};

}  // namespace weir
