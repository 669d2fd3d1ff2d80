#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <weir/status.hpp>

#include "plan/file_groups.hpp"
#include "plan/rank_declaration.hpp"
#include "subfile/checksums.hpp"

namespace weir {

/// What lies where in a set of sub-files: the content of the file under whose name the set is known.
///
/// A sub-file holds sections. In a section every rank of the sub-file's group has one stretch, in which its variables
/// lie one after another as they were in its memory. A decomposition is kept once a rank, however many variables have
/// it, and a pattern once, however many sections have it.
struct SetIndex {
  /// What one rank declared.
  struct Rank {
    std::uint32_t file = 0;
    std::uint64_t at = 0;  ///< where its stretch begins in a section
    std::vector<PieceList> shapes;
    std::vector<std::uint64_t> shape_bytes;  ///< in memory

    void write(Writer& out) const;
    static Rank read(Reader& in);
  };
  /// What all ranks declared together.
  struct Pattern {
    std::vector<RankDeclaration::Variable> variables;  ///< the same on every rank
    std::vector<Rank> ranks;

    [[nodiscard]] std::uint64_t checksums_of(const Rank& rank) const;
  };
  /// A step that was written. Sections that were finished later come later, and win where two hold the same byte.
  struct Section {
    std::uint32_t pattern = 0;
    std::uint64_t shift = 0;             ///< of all offsets in the pattern
    std::vector<std::uint64_t> file_at;  ///< where it begins in each sub-file
    std::vector<std::vector<std::uint64_t>> sums{};  ///< by rank: checksums of its variables, one after another
  };

  std::uint64_t id = 0;                   ///< random: sub-files of another set are not taken for its own
  std::string stem;                       ///< what the names of the sub-files begin with
  std::int64_t written_ns = 0;            ///< when it became whole, since 1970
  std::vector<std::string> hosts;         ///< on which each sub-file was written
  std::vector<std::uint64_t> file_bytes;  ///< of data in each sub-file
  std::vector<Pattern> patterns;
  std::vector<Section> sections;

  [[nodiscard]] std::uint32_t files() const noexcept { return static_cast<std::uint32_t>(file_bytes.size()); }
  /// What lies in a sub-file.
  [[nodiscard]] std::vector<StoredVariable> stored_in(std::uint32_t file) const;
  /// Puts the sub-files in another order: `order[k]` is the number that sub-file k has now.
  void reorder(const std::vector<std::uint32_t>& order);
  /// Of where everything lies, and not what it is: sets with the same layout can be read by the same plan.
  [[nodiscard]] std::uint64_t layout_hash() const;

  [[nodiscard]] std::vector<std::byte> encoded() const;
  /// Never trusts what it reads: anything that is not whole and consistent is `Code::corrupt`. `path` is for messages.
  static Result<SetIndex> decoded(std::span<const std::byte> bytes, const std::string& path);
  /// Whether a file that begins so is an index, of any version.
  static bool recognises(std::span<const std::byte> beginning) noexcept;
  static constexpr std::size_t recognised_by = 8;  ///< bytes

 private:
  void write_layout(Writer& out) const;
  [[nodiscard]] bool read_layout(Reader& in);
  [[nodiscard]] bool read_sums(Reader& in);
  [[nodiscard]] bool consistent() const;
};

/// Small numbers in few bytes: seven bits in each, the lowest first, the highest bit set in all but the last.
void put_number(Writer& out, std::uint64_t number);
std::uint64_t get_number(Reader& in);

}  // namespace weir
