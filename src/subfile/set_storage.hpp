#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/file_groups.hpp"
#include "storage/storage.hpp"
#include "subfile/set_index.hpp"

namespace weir {

/// How the sub-files of a set are called, and how much data each must have.
struct SubFiles {
  std::string stem;  ///< with the directory
  std::uint64_t id = 0;
  FileGroups space;
  std::vector<std::uint64_t> bytes;     ///< for reading: of each sub-file
  std::vector<std::uint32_t> numbers{};  ///< for reading: under which each was written; empty: its own
  const SetIndex* index = nullptr;       ///< for reading: what to verify the data by

  /// "out.dat.5f0c1e22.0003": never that of another set, so a set can be made beside the one that it will replace.
  [[nodiscard]] std::string name(std::uint32_t file) const;
  Status remove_all(StorageSystem& system) const;
  [[nodiscard]] std::uint32_t number(std::uint32_t file) const noexcept {
    return numbers.empty() ? file : numbers[file];
  }
};

/// The end of every sub-file: to which set it belongs, and that it is whole.
struct SubFileMark {
  std::uint64_t set = 0, file = 0, bytes = 0;

  bool operator==(const SubFileMark&) const = default;
  /// That of an open file; none when it does not end with one for its length.
  static Result<std::optional<SubFileMark>> read(Storage& storage, const std::string& path);
  static constexpr std::uint64_t size = 32;
};

/// All sub-files of a set as one storage: offsets are those of `FileGroups`. Each is opened when it is first used.
///
/// A sub-file ends with a mark that says of which set it is and how long its data; what is opened for reading without
/// the right one is `Code::corrupt`, and so is data that does not have the checksum which its writer made. The reason why
/// a sub-file could not be used is left in `problem`.
class SetStorage final : public Storage {
 public:
  /// `mode` is that of sub-files: `read`, or `update` for those that somebody has created.
  SetStorage(StorageSystem& system, const SubFiles& files, OpenMode mode, Status& problem);
  /// Makes a new, empty sub-file.
  Status create(std::uint32_t file);
  /// Opens a sub-file, or says why it cannot be.
  Status probe(std::uint32_t file) noexcept;
  /// Writes the mark behind `bytes` of data.
  Status seal(std::uint32_t file, std::uint64_t bytes);

  void submit(Io& io) noexcept override;
  std::size_t poll() noexcept override;
  void wait() noexcept override;
  /// Not what is verified.
  [[nodiscard]] bool takes_parts() const noexcept override { return mode_ != OpenMode::read; }
  int sync() noexcept override;
  int close() noexcept override;
  /// Of all sub-files that are open.
  std::int64_t size() noexcept override;

  static constexpr std::size_t most_open = 64;

 private:
  struct Open {
    std::uint32_t file;
    std::unique_ptr<Storage> storage;
    std::optional<Verifier> verifier{};
  };
  struct UnderWay {
    Io* io;
    std::uint32_t file;
  };

  /// The sub-file, or null and its errno.
  Open* get(std::uint32_t file, int& error) noexcept;
  Status open(std::uint32_t file);
  [[nodiscard]] Status check_mark(std::uint32_t file, Storage& storage) const;
  /// Closes one that nobody uses, when there are many.
  void make_room();
  /// Verifies finished transfers, and gives them the offsets back that their owners know.
  void settle() noexcept;
  void verify(std::uint32_t file, Io& io) noexcept;

  StorageSystem& system_;
  const SubFiles& files_;
  OpenMode mode_;
  Status& problem_;
  std::vector<Open> open_;  // the last used one is last
  std::vector<UnderWay> under_way_;
};

}  // namespace weir
