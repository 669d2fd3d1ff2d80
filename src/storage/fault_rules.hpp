#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/storage.hpp"

namespace weir {

enum class FaultOp : std::uint8_t { open, write, read, sync, close, rename, remove, syncdir };

/// One rule of a text such as "op=write error=ENOSPC after=3 times=1 rank=2".
struct FaultRule {
  enum class Kind : std::uint8_t { error, shorten, flip };
  FaultOp op = FaultOp::write;
  Kind kind = Kind::error;
  int error = 0;
  std::uint64_t most = 0;                   ///< `shorten`: bytes that a call moves
  std::uint64_t after = 0;                  ///< matching calls that are let through first
  std::uint64_t times = ~std::uint64_t{0};  ///< how often it fires
  std::optional<std::uint64_t> rank;        ///< only on this one
};

/// Decides which calls fail. One thread at a time.
///
/// error=E and short=N meet the raw calls that move bytes, so that the loops around them are what is tested; error=E
/// of the other operations comes in place of the call (close: after it). flip meets whole transfers.
class FaultRules final : public TransferHook {
 public:
  /// Rules are separated by ';', words by spaces. A malformed one is `Code::settings` and says what is allowed.
  static Result<std::shared_ptr<FaultRules>> parse(std::string_view text, int rank);

  int before(Io::Kind kind, std::uint64_t& length) noexcept override;
  /// The errno that `op` has to fail with now, or 0.
  int error_for(FaultOp op) noexcept;
  /// Whether a transfer has to be damaged now.
  bool flips(Io::Kind kind) noexcept;

  /// How often any rule has fired.
  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_; }
  /// Whether any rule is about reads or writes.
  [[nodiscard]] bool meets_transfers() const noexcept;

 private:
  bool fires(FaultRule& rule) noexcept;

  std::vector<FaultRule> rules_;  // `after` and `times` count down
  std::uint64_t fired_ = 0;
};

}  // namespace weir
