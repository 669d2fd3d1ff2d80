#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <weir/weir.hpp>

namespace weir::interpose {

/// What was done with the calls on a file, for WEIR_EXPLAIN.
class Tally {
 public:
  /// Whether anybody wants to know.
  static bool wanted() noexcept;

  void passed(const char* call, const char* reason) {
    if (call && wanted()) ++passed_[{call, reason}];
  }
  void taken(const char* call, const Step& step, double seconds, double pack_s);
  /// Each rank moved its own piece.
  void moved(const char* call, std::uint64_t bytes, double seconds, double pack_s);
  /// Lists of boxes that were given to PnetCDF, written by one call.
  void joined(std::uint64_t lists, std::uint64_t pieces, std::uint64_t bytes) noexcept {
    lists_ += lists;
    list_pieces_ += pieces;
    list_bytes_ += bytes;
  }
  [[nodiscard]] std::string text(const std::string& path, const std::string& refusal) const;

 private:
  struct Kind {
    std::uint64_t calls = 0;
    double seconds = 0;
  };
  void count(const char* call, double seconds, double pack_s);

  std::map<std::string, Kind> taken_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> passed_;
  std::uint64_t lists_ = 0, list_pieces_ = 0, list_bytes_ = 0;
  Report sum_;
  double pack_s_ = 0;
  std::string plan_;  // of the last call
};

}  // namespace weir::interpose
