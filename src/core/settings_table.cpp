#include <charconv>

#include "core/log.hpp"
#include "core/settings.hpp"

namespace weir {
namespace {

bool is_files(std::string_view text) {
  if (text == "shared" || text == "rank" || text == "node") return true;
  if (!text.starts_with("nodes:")) return false;
  text.remove_prefix(6);
  unsigned nodes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nodes);
  return error == std::errc{} && end == text.data() + text.size() && nodes > 0;
}

constexpr std::uint64_t kib = 1024, gib = kib * kib * kib;
constexpr std::uint64_t any = ~std::uint64_t{0};

using enum SettingInfo::Type;

const std::vector<SettingInfo> all_settings{
    {"plan.memory",
     bytes,
     "64MiB",
     "the most buffer memory that one aggregator may allocate; a hard limit",
     {},
     4 * kib},
    {"plan.buffers", number, "2", "buffers of an aggregator: one fills while the others are stored", {}, 1, 16},
    {"plan.buffer_size", bytes, "0", "bytes of one buffer; 0: chosen"},
    {"plan.aggregators", number, "0", "ranks that gather and store the data of the others; 0: chosen"},
    {"plan.mode", choice, "auto", "every rank stores its own data (direct), or through aggregators (aggregate)",
     "auto|direct|aggregate"},
    {"plan.alignment", bytes, "0",
     "the parts of aggregators start at multiples of this in the file; 0: from the storage"},
    {"plan.files", text, "shared",
     "a created file is one for all, or a set of sub-files, one for each rank, node or N nodes, and an index",
     "shared|rank|node|nodes:N", 0, any, is_files},
    {"plan.model", choice, "weir", "what elects the aggregators on several nodes, or where the machine is described",
     "greedy|shortest|longest|random|tapioca|ma-tapioca|weir"},
    {"machine.description", text, "",
     "the machine that jobs run on, for the model that elects aggregators: a stored one, a file, or a short text; see "
     "`weir machine --help`; or 'detect', or 'none', with which aggregators are spread evenly. Empty: detected for jobs on "
     "several nodes, where it says who aggregates, and when it was calibrated also whether and how many"},
    {"memory.tier", text, "",
     "the memory bank for aggregation buffers, by name or kind, such as hbm, dram or nvme, or remote: memory servers; empty: chosen where the "
     "machine is described or detected, else dram"},
    {"memory.persistency", choice, "none", "how long the bank of aggregation buffers must keep data at least",
     "none|process|job|permanent"},
    {"machine.ranks_per_node", number, "0", "pretends that nodes hold this many ranks; 0: as detected"},
    {"machine.calibration", text, "",
     "directory where measured figures of the machine are kept; empty: the user's cache", "DIRECTORY"},
    {"memory.node_directory", text, "",
     "directories on storage of the node itself, for buffers, and the first one for files with storage.tier=node, where "
     "{node} stands for the node's number in the job",
     "DIRECTORY or several, separated by colons"},
    {"remote.contact", text, "", "contact files of memory servers, which steps go through with memory.tier=remote, or where the model finds that faster", "FILE or several, separated by commas"},
    {"remote.secret", text, "", "file with the secret of memory servers that are reached over TCP, or munge where they use that", "FILE, munge or munge:SOCKET"},
    {"remote.transport", choice, "auto",
     "how data gets to memory servers: their memory is mapped on the same node, one-sided transfers of UCX, or sockets", "auto|mapped|ucx|socket"},
    {"remote.stripe", bytes, "1MiB", "bytes of a rank's data that lie together on one of several memory servers", {}, 4 * kib, gib},
    {"remote.timeout", number, "10", "seconds after which a memory server that does not answer is given up", {}, 1, 3600},
    {"remote.wait_for_room", number, "0",
     "seconds that a step waits for room in memory servers that are full, before it goes on as remote.when_lost says", {}, 0, 86'400},
    {"remote.when_lost", choice, "two-phase",
     "when memory servers are full or lost, a step goes the ordinary way, or fails", "two-phase|fail"},
    {"remote.synchronous", flag, "no", "the ranks meet in every round of a step through remote memory; to compare with"},
    {"exchange.between_nodes", choice, "auto", "messages, or puts and gets, between nodes", "auto|two-sided|one-sided"},
    {"exchange.chunk", bytes, "1MiB", "buffer of a relay between nodes", {}, 4 * kib, gib},
    {"exchange.spin_us", number, "auto", "microseconds to look for news before the processor is given up", "auto", 0,
     1'000'000},
    {"storage.kind", choice, "posix", "where files are: in the file system, nowhere, or in memory",
     "posix|null|memory"},
    {"storage.tier", choice, "file-system",
     "where files are made: under their name in the file system, or on storage of the nodes, to be read there or drained "
     "to the file system later; what is there and newer is also read from there",
     "file-system|node"},
    {"storage.async", choice, "auto", "how transfers overlap: io_uring, or not at all", "auto|uring|plain"},
    {"storage.durability", choice, "accepted",
     "when a file is closed: the system has accepted the data, or it is durable", "accepted|durable"},
    {"storage.replace", flag, "yes", "a created file is written under a temporary name and renamed when it is closed"},
    {"drain.keep", flag, "no", "a file that was drained to the file system stays on the nodes too"},
    {"drain.rate", bytes, "0", "bytes that each node drains in a second at most, so that others get their share; 0: no limit"},
    {"drain.turns", choice, "auto",
     "nodes drain one after another, all but the first when the program waits for it; auto: on file systems that may lose "
     "what several nodes write into one page, such as NFS",
     "auto|yes|no"},
    {"run.collective", choice, "weir",
     "who carries out collective accesses of programs under `weir run`: Weir, or the program's MPI library", "weir|mpi"},
    {"storage.fault", text, "", "faults to inject, for tests"},
    {"log", text, "", "what to tell on stderr: a level for all, and for components, such as warn,plan:debug",
     "LEVEL or COMPONENT:LEVEL, separated by commas; levels are off, error, warn, info and debug", 0, any,
     is_log_specification},
};

}  // namespace

const std::vector<SettingInfo>& setting_table() { return all_settings; }

}  // namespace weir
