#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/pieces.hpp"
#include "storage/storage.hpp"

namespace weir {

/// Checksums are made of the blocks of a variable in the memory of the rank that writes it, the last one shorter.
constexpr std::uint64_t checksum_block = 64 << 10;

constexpr std::uint64_t checksums_of(std::uint64_t bytes) { return (bytes + checksum_block - 1) / checksum_block; }
void make_checksums(const std::byte* data, std::uint64_t bytes, std::uint64_t* sums) noexcept;

/// What one rank wrote of one variable, contiguous in a sub-file, and its checksums.
struct StoredVariable {
  std::uint64_t offset, bytes;
  const std::uint64_t* sums;

  [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes; }
};

/// Verifies what is read of one sub-file.
class Verifier {
 public:
  /// `variables` never overlap; their checksums must live as long as this.
  explicit Verifier(std::vector<StoredVariable> variables);

  /// Whether `data`, read at `offset`, is what was written. Blocks that are only partly in it are read from `storage`,
  /// each once. The errno of that, EILSEQ when the data is wrong, and then `bad` is the block that is.
  int check(Storage& storage, std::uint64_t offset, std::span<const std::byte> data, Extent& bad) noexcept;

 private:
  struct Variable : StoredVariable {
    std::uint64_t first_block;  // counted over all variables
  };
  int check_block(Storage& storage, const Variable& variable, std::uint64_t block, std::uint64_t offset,
                  std::span<const std::byte> data, Extent& bad) noexcept;

  std::vector<Variable> variables_;  // by offset
  std::vector<bool> verified_;       // by block: those that were read for it
  std::vector<std::byte> scratch_;
};

}  // namespace weir
