#include "tally.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "core/units.hpp"

namespace weir::interpose {

bool Tally::wanted() noexcept {
  static const bool wanted = [] {
    const char* text = std::getenv("WEIR_EXPLAIN");
    return text && *text && std::string_view{text} != "0";
  }();
  return wanted;
}

void Tally::count(const char* call, double seconds, double pack_s) {
  Kind& kind = taken_[call];
  ++kind.calls;
  kind.seconds += seconds;
  pack_s_ += pack_s;
}

void Tally::moved(const char* call, std::uint64_t bytes, double seconds, double pack_s) {
  if (!wanted()) return;
  count(call, seconds, pack_s);
  sum_.bytes += bytes;
  sum_.stored_bytes += bytes;
  sum_.storage_calls += bytes > 0 ? 1 : 0;
}

void Tally::taken(const char* call, const Step& step, double seconds, double pack_s) {
  if (!wanted()) return;
  count(call, seconds, pack_s);
  const Report report = step.report();
  sum_.bytes += report.bytes;
  sum_.stored_bytes += report.stored_bytes;
  sum_.storage_calls += report.storage_calls;
  sum_.copy_s += report.copy_s;
  sum_.storage_s += report.storage_s;
  sum_.wait_s += report.wait_s;
  plan_ = step.explain();
}

std::string Tally::text(const std::string& path, const std::string& refusal) const {
  std::string text = fmt::format("weir: '{}'\n", path);
  if (!refusal.empty()) text += fmt::format("  nothing taken over: {}\n", refusal);
  if (lists_ > 0)
    text += fmt::format("  taken over: {} lists of boxes for PnetCDF, on rank 0 {} pieces of {} in the mean\n", lists_,
                        list_pieces_, format_bytes(list_bytes_ / list_pieces_));
  for (const auto& [call, kind] : taken_)
    text += fmt::format("  taken over: {} MPI_File_{}, {}\n", kind.calls, call, format_seconds(kind.seconds));
  for (const auto& [what, calls] : passed_)
    text += fmt::format("  passed through: {} MPI_File_{}: {}\n", calls, what.first, what.second);
  if (taken_.empty()) return text;
  text += fmt::format(
      "  on rank 0: {} moved, {} between storage and buffers in {} calls; {} packing, {} copying, {} storage, {} "
      "waiting\n",
      format_bytes(sum_.bytes), format_bytes(sum_.stored_bytes), sum_.storage_calls, format_seconds(pack_s_),
      format_seconds(sum_.copy_s), format_seconds(sum_.storage_s), format_seconds(sum_.wait_s));
  if (plan_.empty()) return text + "  no plan: the part of each rank is one piece, which it moves itself\n";
  text += "  last plan: ";
  for (const char c : plan_) text += c == '\n' ? std::string{"\n  "} : std::string{c};
  text.resize(text.find_last_not_of(" \n") + 1);
  return text + '\n';
}

}  // namespace weir::interpose
