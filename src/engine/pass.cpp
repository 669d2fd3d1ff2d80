#include "engine/pass.hpp"

#include <fmt/format.h>

#include <chrono>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {

double now() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

std::string_view remedy(Code code) {
  switch (code) {
    case Code::no_space: return "free space, or write to another file system";
    case Code::quota: return "free space within your quota, or write to another file system";
    case Code::too_large: return "raise the limit on file size (ulimit -f), or write several files";
    default: return {};
  }
}

}  // namespace

void Pass::fail_io(const Io& io) noexcept {
  if (failed()) return;
  if (!storage.error().ok()) return fail(storage.error());
  try {
    const auto [name, offset] = storage.place_of(io.offset);
    const bool write = io.kind == Io::Kind::write;
    const int world = team.size();
    const std::string who = world > 1 ? fmt::format("\n      [rank {} of {}; the other ranks return the same error]",
                                                    team.rank(), world) : std::string{};
    if (!write && io.error == 0)
      return fail({Code::end_of_file,
                   fmt::format("weir: cannot read {} at offset {} of '{}': the file ends after {}\n"
                               "      declare only what was written{}",
                               format_bytes(io.length), offset, name, format_bytes(offset + io.done), who)});
    const Code code = code_of(io.error);
    fail({code, fmt::format("weir: cannot {} '{}': {} after {} of {} at offset {}{}{}{}", write ? "write" : "read", name,
                            reason_of(io.error), format_bytes(io.done), format_bytes(io.length), offset,
                            remedy(code).empty() ? "" : "\n      ", remedy(code), who)});
  } catch (const std::bad_alloc&) {
    fail({io.error ? code_of(io.error) : Code::end_of_file, {}});
  }
}

}  // namespace weir
