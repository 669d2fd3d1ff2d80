#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <weir/status.hpp>

#include "machine/figure.hpp"

namespace weir {

/// The words of a short text, read one after another. The first problem is kept; after it there are no more words.
class ShortWords {
 public:
  /// Words end at blanks; a comma or semicolon at the end of a word is ignored.
  explicit ShortWords(std::string_view text);

  /// The next word without taking it; empty at the end.
  [[nodiscard]] std::string_view peek() const noexcept;
  std::string_view take() noexcept;
  bool take_if(std::string_view word) noexcept;

  /// "16"
  int whole(std::string_view what);
  /// "0,64", "4x4x2": whole numbers from `least` on with `separator` between.
  std::vector<int> wholes(char separator, int least, std::string_view what);
  /// "2GBps", "1us,2us": amounts of one unit.
  template <Unit unit>
  std::vector<Figure<unit>> figures(std::string_view what);
  /// The next word if it is an amount of this unit.
  template <Unit unit>
  std::optional<Figure<unit>> figure_if();

  /// The word that was taken last is not what was expected.
  void refuse(std::string_view why, std::string_view remedy);
  /// Some other word, by its number from 0.
  void refuse_at(std::size_t word, std::string_view why, std::string_view remedy);
  [[nodiscard]] std::size_t taken() const noexcept { return next_; }
  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  struct Word {
    std::string_view text;
    std::size_t column;  ///< from 1
  };
  std::optional<int> number(std::string_view text, int least);

  std::vector<Word> words_;
  std::size_t next_ = 0;
  Status status_;
};

}  // namespace weir
