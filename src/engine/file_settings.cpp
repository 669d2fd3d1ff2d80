#include "engine/file_settings.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "machine/detect.hpp"
#include "machine/local_device.hpp"
#include "storage/make_storage.hpp"

namespace weir {

Status FileSettings::use_remote(const ResolvedSettings& settings) {
  if (settings.text("remote.contact").empty())
    return problem(Code::settings, "cannot use memory.tier=remote: remote.contact is not set",
                   "start `weir memory serve` and name its contact file there");
  election.bank.clear();
  limits.remote = PlanLimits::Remote::must;
  return {};
}

Status FileSettings::use_nodes(const ResolvedSettings& settings, const Team& team) {
  const auto directories = split_directories(settings.text("memory.node_directory"));
  if (directories.empty())
    return problem(Code::settings, "cannot use storage.tier=node: memory.node_directory is not set",
                   "name a directory on storage of the nodes there, such as /local/scratch");
  if (settings.text("storage.kind") != "posix")
    return problem(Code::settings, "cannot use storage.tier=node with another storage.kind than posix", "set only one");
  if (files != "shared" && files != "node")
    return problem(Code::settings, fmt::format("cannot use storage.tier=node with plan.files={}", files),
                   "each node has one file there: leave plan.files out, or set it to node");
  files = "node";
  node_directory = on_node(directories.front(), team.node());
  return {};
}

Result<std::shared_ptr<const FileSettings>> FileSettings::of(const ResolvedSettings& settings, const Team& team) {
  auto made = std::make_shared<FileSettings>();
  made->limits = PlanLimits::of(settings);
  auto strategy = parse_strategy(settings.text("plan.model"));
  if (!strategy) return strategy.status();
  made->election.strategy = *strategy;
  made->election.bank = settings.text("memory.tier");
  made->election.persistency = *parse_persistency(settings.text("memory.persistency"));
  if (made->election.wants_bank() && made->limits.mode == PlanLimits::Prefer::any)
    made->limits.mode = PlanLimits::Prefer::aggregate;
  if (made->election.bank == "remote")
    if (Status status = made->use_remote(settings); !status.ok()) return status;
  made->files = settings.text("plan.files");
  if (settings.text("storage.tier") == "node")
    if (Status status = made->use_nodes(settings, team); !status.ok()) return status;
  made->posix = settings.text("storage.kind") == "posix";
  made->memory = settings.text("storage.kind") == "memory";
  made->replace = settings.flag("storage.replace");
  made->durable = settings.text("storage.durability") == "durable";
  made->one_sided = settings.text("exchange.between_nodes") == "one-sided";
  made->faulty = !settings.text("storage.fault").empty();
  // Waiting for storage in the background pays only where this rank also serves other nodes.
  const std::string& async = settings.text("storage.async");
  auto system = make_storage_system(settings.text("storage.kind"),
                                    async == "auto" && team.nodes().nodes() == 1 ? "plain" : async,
                                    settings.text("storage.fault"), team.rank());
  if (!system) return system.status();
  made->system = std::move(*system);
  return std::shared_ptr<const FileSettings>{std::move(made)};
}

}  // namespace weir
