#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <weir/status.hpp>

#include "machine/figure.hpp"

namespace weir {

/// The first thing that is wrong with a description; what comes after it is not told.
class DescriptionProblem {
 public:
  explicit DescriptionProblem(std::string_view origin_name) : origin_name_{origin_name} {}

  void tell(const toml::source_region& where, std::string_view what, std::string_view remedy);
  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  std::string origin_name_;
  Status status_;
};

enum class Need : unsigned char { required, optional };

/// Reads the keys of a table. A wrong value is told at once; `done` tells unknown keys, then missing ones, since the
/// former are often the latter misspelt. Without a usable value a read returns an empty or the least one.
class DescriptionTable {
 public:
  DescriptionTable(const toml::table& table, std::string name, DescriptionProblem& problem)
      : table_{&table}, name_{std::move(name)}, problem_{&problem} {}

  [[nodiscard]] bool has(std::string_view key) const { return table_->contains(key); }
  std::string text(std::string_view key, Need need);
  int whole(std::string_view key, int least, std::optional<int> otherwise = {});
  std::vector<int> wholes(std::string_view key, int least, Need need);
  /// A list whose entries the caller reads.
  const toml::array* list(std::string_view key, Need need);
  const toml::table* table(std::string_view key);
  template <Unit unit>
  Figure<unit> figure(std::string_view key) {
    const ParsedFigure parsed = amount(key, unit, Need::optional);
    return {parsed.value, parsed.origin.value_or(Origin::configured), parsed.note};
  }
  /// Where other numbers come from; `configured` where nothing is said.
  Provenance source(std::string_view key);
  /// An amount without origin.
  double bytes(std::string_view key, Need need) { return amount(key, Unit::bytes, need).value; }
  std::vector<double> byte_list(std::string_view key);

  /// Where a key stands, or the table if it has no such key.
  [[nodiscard]] const toml::source_region& at(std::string_view key) const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void tell(const toml::source_region& where, std::string_view what, std::string_view remedy) {
    problem_->tell(where, what, remedy);
  }
  /// Tells what is left. False if anything was wrong.
  bool done();

  /// A whole number of a list.
  int entry(const toml::node& node, std::string_view key, int least);

 private:
  const toml::node* find(std::string_view key, Need need);
  ParsedFigure amount(std::string_view key, Unit unit, Need need);
  void wrong_type(const toml::node& node, std::string_view key, std::string_view wanted);

  const toml::table* table_;
  std::string name_;
  DescriptionProblem* problem_;
  std::vector<std::string> asked_;
  std::string missing_;
};

}  // namespace weir
