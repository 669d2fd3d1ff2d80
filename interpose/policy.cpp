#include "policy.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/errors.hpp"
#include "core/settings.hpp"
#include "core/settings_file.hpp"

namespace weir::interpose {

namespace {

/// Hints that users set for other implementations, and the settings that they stand for.
struct Hint {
  const char* name;
  const char* setting;
};
constexpr std::array hints{
    Hint{"cb_nodes", "plan.aggregators"},
    Hint{"cb_buffer_size", "plan.buffer_size"},
    Hint{"striping_unit", "plan.alignment"},
};
/// Hints by which a program says that it wants no collective buffering.
struct Switch {
  const char* name;
  std::string_view off;
};
constexpr std::array switches{Switch{"romio_cb_write", "disable"}, Switch{"romio_cb_read", "disable"},
                              Switch{"collective_buffering", "false"}};

constexpr std::array placing_hints{"striping_factor", "striping_unit", "start_iodevice", "file_perm"};

std::string hint(MPI_Info info, const char* name) {
  char text[MPI_MAX_INFO_VAL + 1] = {};
  int found = 0;
  if (info != MPI_INFO_NULL) PMPI_Info_get(info, name, MPI_MAX_INFO_VAL, text, &found);
  return found ? text : "";
}

/// Whether how data goes to the file is all left to Weir.
bool leaves_open(const ResolvedSettings& resolved, const Settings& of_file) {
  return of_file.empty() && resolved.text("plan.mode") == "auto" && resolved.text("storage.durability") == "accepted" &&
         resolved.text("storage.tier") == "file-system" && resolved.text("storage.fault").empty() &&
         resolved.text("memory.tier").empty() && resolved.text("memory.node_directory").empty() &&
         resolved.number("plan.aggregators") == 0;
}

/// What the environment and the settings file say, read again when either has changed.
struct Sources {
  std::string seen;
  Result<ResolvedSettings> resolved = Status{};
  Result<std::vector<FileRule>> rules = Status{};
};

/// All of the environment that matters, and which settings file it is.
std::string seen_now(const std::string& file) {
  std::string seen = file;
  for (char** entry = environ; entry && *entry; ++entry)
    if (std::strncmp(*entry, "WEIR_", 5) == 0) (seen += '\n') += *entry;
  struct stat found {};
  if (!file.empty() && ::stat(file.c_str(), &found) == 0)
    for (const auto part :
         {std::uint64_t{found.st_ino}, static_cast<std::uint64_t>(found.st_size),
          static_cast<std::uint64_t>(found.st_mtim.tv_sec), static_cast<std::uint64_t>(found.st_mtim.tv_nsec)})
      (seen += '\n') += std::to_string(part);
  return seen;
}

Sources& sources() {
  static thread_local Sources known;
  const std::string file = settings_file_name();
  std::string seen = seen_now(file) + '\n';  // never nothing
  if (seen == known.seen) return known;
  known.resolved = ResolvedSettings::resolve();
  known.rules = file.empty() ? std::vector<FileRule>{} : read_file_rules(file);
  known.seen = std::move(seen);
  return known;
}

Status take_rules(const std::string& path, Settings& settings) {
  auto& rules = sources().rules;
  if (!rules) return rules.status();
  for (const FileRule& rule : *rules) {
    if (!rule.matches(path)) continue;
    for (const FileSetting& setting : rule.settings) {
      if (Result<ResolvedSettings> checked = ResolvedSettings{}.with({{setting.key, setting.text}}); !checked)
        return problem(Code::settings, setting.origin + ": " + checked.status().message());
      settings[setting.key] = setting.text;
    }
  }
  return {};
}

}  // namespace

Policy Policy::of(const std::string& path, MPI_Info info) {
  Policy policy;
  Result<ResolvedSettings> resolved = sources().resolved;
  if (!resolved) return {{}, "settings cannot be used", resolved.status()};
  for (const Hint& known : hints)
    if (const std::string text = hint(info, known.name); !text.empty() && text != "0")
      if (resolved->with({{known.setting, text}})) policy.settings[known.setting] = text;
  for (const Switch& known : switches)
    if (hint(info, known.name) == known.off)
      policy.refusal = std::string{"hint "} + known.name + " is " + std::string{known.off};
  policy.problem = take_rules(path, policy.settings);
  if (policy.problem.ok())
    if (resolved = resolved->with(policy.settings); !resolved) policy.problem = resolved.status();
  if (!policy.problem.ok())
    policy.refusal = "settings cannot be used";
  else if (resolved->text("run.collective") == "mpi")
    policy.refusal = "run.collective is mpi";
  else if (resolved->text("storage.kind") != "posix")
    policy.refusal = "storage.kind is not posix";
  else if (resolved->text("plan.files") != "shared" && resolved->text("storage.tier") != "file-system")
    policy.refusal = "sub-files on storage of the nodes are only for programs that use Weir themselves";
  else
    policy.sub_files = resolved->text("plan.files") != "shared";
  if (policy.refusal.empty()) policy.ranks_may_go_alone = leaves_open(*resolved, policy.settings);
  return policy;
}

bool places_file(MPI_Info info) {
  return std::ranges::any_of(placing_hints, [&](const char* name) { return !hint(info, name).empty(); });
}

void add_hints(MPI_Info more, MPI_Info& hints, Hints which) {
  int keys = 0;
  if (more != MPI_INFO_NULL) PMPI_Info_get_nkeys(more, &keys);
  if (keys > 0 && hints == MPI_INFO_NULL) PMPI_Info_create(&hints);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    PMPI_Info_get_nthkey(more, i, key);
    if (which == Hints::all || hint(hints, key).empty()) PMPI_Info_set(hints, key, hint(more, key).c_str());
  }
}

void report_hints(const Settings& settings, const std::string& refusal, MPI_Info info) {
  PMPI_Info_set(info, "weir", refusal.empty() ? "collective" : refusal.c_str());
  for (const Hint& known : hints)
    if (const auto found = settings.find(known.setting); refusal.empty() && found != settings.end())
      PMPI_Info_set(info, known.name, found->second.c_str());
}

}  // namespace weir::interpose
