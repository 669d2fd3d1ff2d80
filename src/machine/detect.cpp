#include "machine/detect.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>

#include "core/errors.hpp"
#include "machine/local_device.hpp"
#include "machine/scheduler.hpp"

namespace weir {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Hardware = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

Status no_hardware(const DetectOptions& options, int error) {
  return problem(options.hardware.empty() ? Code::unsupported : Code::invalid, [&] {
    return fmt::format("cannot look at the hardware{}: {}",
                       options.hardware.empty() ? "" : fmt::format(" described by '{}'", options.hardware),
                       error ? reason_of(error) : "hwloc does not understand it");
  }, "give an hwloc XML file (lstopo --of xml) or a synthetic description (\"pack:2 core:4 pu:1\")");
}

Result<Hardware> look(const DetectOptions& options) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return no_hardware(options, errno);
  Hardware hardware{topology};
  if (!options.hardware.empty()) {
    const bool file = access(options.hardware.c_str(), F_OK) == 0;
    const int error = file ? hwloc_topology_set_xml(topology, options.hardware.c_str())
                           : hwloc_topology_set_synthetic(topology, options.hardware.c_str());
    if (error != 0) return no_hardware(options, options.hardware.find('/') == std::string::npos ? 0 : ENOENT);
  }
  // Accelerators are not asked for, and looking for them may take a second.
  for (const char* slow : {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"})
    (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, slow);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) return no_hardware(options, 0);
  return hardware;
}

/// The value of an attribute of a memory for those who are nearest to it; 0 when nobody knows it.
double attribute(hwloc_topology_t topology, hwloc_obj_t memory, std::initializer_list<hwloc_memattr_id_e> any_of) {
  for (const hwloc_memattr_id_e id : any_of) {
    hwloc_location initiator{};
    hwloc_uint64_t value = 0;
    if (hwloc_memattr_get_best_initiator(topology, id, memory, 0, &initiator, &value) == 0 && value > 0)
      return static_cast<double>(value);
  }
  return 0;
}

std::string kind_told(hwloc_obj_t memory) {
  const std::string_view subtype = memory->subtype ? memory->subtype : "";
  if (subtype == "MCDRAM" || subtype == "HBM") return "hbm";
  if (subtype == "NVM" || subtype == "SPM") return "nvram";
  if (subtype == "DRAM") return "dram";
  return hwloc_obj_get_info_by_name(memory, "DAXDevice") ? "nvram" : "";
}

/// Firmware lists ordinary memory first; what is twice as fast, or half as fast, is something else (hwloc's own guess).
std::string kind_guessed(const NumaFacts& memory, const NumaFacts& first) {
  const auto speed = [](const NumaFacts& m) { return std::max(m.read.value, m.write.value); };
  if (speed(memory) <= 0 || speed(first) <= 0) return "dram";
  if (speed(memory) >= 2 * speed(first)) return "hbm";
  return 2 * speed(memory) <= speed(first) ? "nvram" : "dram";
}

std::vector<NumaFacts> numa_of(hwloc_topology_t topology) {
  constexpr double mib = 1 << 20;
  std::vector<NumaFacts> all;
  for (hwloc_obj_t memory = nullptr; (memory = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, memory));) {
    if (memory->attr->numanode.local_memory == 0) continue;
    const auto value = [&](std::initializer_list<hwloc_memattr_id_e> ids) { return attribute(topology, memory, ids); };
    NumaFacts numa;
    numa.index = static_cast<int>(memory->os_index);
    numa.kind = kind_told(memory);
    numa.capacity = {static_cast<double>(memory->attr->numanode.local_memory), Origin::system, {}};
    if (const double ns = value({HWLOC_MEMATTR_ID_LATENCY, HWLOC_MEMATTR_ID_READ_LATENCY}); ns > 0)
      numa.latency = {ns * 1e-9, Origin::system, {}};
    if (const double read = value({HWLOC_MEMATTR_ID_READ_BANDWIDTH, HWLOC_MEMATTR_ID_BANDWIDTH}); read > 0)
      numa.read = {read * mib, Origin::system, {}};
    if (const double write = value({HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, HWLOC_MEMATTR_ID_BANDWIDTH}); write > 0)
      numa.write = {write * mib, Origin::system, {}};
    all.push_back(std::move(numa));
  }
  std::ranges::sort(all, {}, &NumaFacts::index);
  for (NumaFacts& numa : all)
    if (numa.kind.empty()) numa.kind = kind_guessed(numa, all.front());
  return all;
}

std::vector<CacheFacts> caches_of(hwloc_topology_t topology) {
  constexpr std::pair<hwloc_obj_type_t, int> levels[] = {
      {HWLOC_OBJ_L1CACHE, 1}, {HWLOC_OBJ_L2CACHE, 2}, {HWLOC_OBJ_L3CACHE, 3},
      {HWLOC_OBJ_L4CACHE, 4}, {HWLOC_OBJ_L5CACHE, 5}, {HWLOC_OBJ_MEMCACHE, 0}};
  std::vector<CacheFacts> caches;
  for (const auto& [type, level] : levels) {
    CacheFacts cache{level, 0, {}};
    for (hwloc_obj_t found = nullptr; (found = hwloc_get_next_obj_by_type(topology, type, found)); ++cache.count)
      cache.each = {static_cast<double>(found->attr->cache.size), Origin::system, {}};
    if (cache.count > 0) caches.push_back(std::move(cache));
  }
  return caches;
}

void find_devices(hwloc_topology_t topology, NodeFacts& facts) {
  const bool here = hwloc_topology_is_thissystem(topology) != 0;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device));) {
    const std::string name = device->name ? device->name : "";
    if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK) {
      BlockDevice disk{name, here || name.starts_with("nvme") ? kind_of_disk(name) : "disk", {}};
      if (const char* kib = hwloc_obj_get_info_by_name(device, "Size"))
        disk.size = {std::strtod(kib, nullptr) * 1024, Origin::system, {}};
      facts.disks.push_back(std::move(disk));
    } else if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
               device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
      const bool fabric = device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
      NetworkDevice network{name, fabric ? "infiniband" : "ethernet", {}};
      if (here) network.bandwidth = bandwidth_of_network(name, network.kind);
      facts.networks.push_back(std::move(network));
    }
  }
}

std::string kernel_identity() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(file, id);
  return id.empty() ? host_name() : id;
}

/// Memory in whole GB: kernels keep a little for themselves, not always the same.
std::uint64_t shape_of(hwloc_topology_t topology, const NodeFacts& facts) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
  std::string text = fmt::format("{}; {} cores, {} threads", model ? model : "", facts.cores,
                                 hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  for (const NumaFacts& numa : facts.numa) text += fmt::format("; {} {:.0f}", numa.kind, numa.capacity.value / 1e9);
  for (const CacheFacts& cache : facts.caches)
    text += fmt::format("; L{} {} {:.0f}", cache.level, cache.count, cache.each.value);
  return XXH3_64bits(text.data(), text.size());
}

void respect_memory_limit(std::vector<NumaFacts>& numa) {
  double total = 0;
  for (const NumaFacts& memory : numa) total += memory.capacity.value;
  const auto limit = static_cast<double>(memory_limit());
  if (limit <= 0 || limit >= total) return;
  for (NumaFacts& memory : numa)
    memory.capacity = {memory.capacity.value * limit / total, Origin::system, "share of the control group's limit"};
}

struct Seen {
  NodeFacts facts;  // of the hardware alone
  bool is_this_system = false;
};

Result<Seen> look_at_hardware(const DetectOptions& options) {
  auto hardware = look(options);
  if (!hardware) return hardware.status();
  const hwloc_topology_t topology = hardware->get();
  Seen seen;
  seen.facts.cores = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
  seen.facts.numa = numa_of(topology);
  seen.facts.caches = caches_of(topology);
  find_devices(topology, seen.facts);
  seen.facts.shape = shape_of(topology, seen.facts);
  seen.is_this_system = hwloc_topology_is_thissystem(topology) != 0;
  return seen;
}

/// What this machine has does not change while a program runs, and looking takes milliseconds.
Result<Seen> hardware_of(const DetectOptions& options) {
  if (!options.hardware.empty()) return look_at_hardware(options);
  static std::mutex guard;
  static std::optional<Seen> known;
  const std::scoped_lock lock{guard};
  if (!known) {
    Result<Seen> seen = look_at_hardware(options);
    if (!seen) return seen;
    known = std::move(*seen);
  }
  return *known;
}

}  // namespace

Result<NodeFacts> detect_node(const DetectOptions& options) {
  auto hardware = hardware_of(options);
  if (!hardware) return hardware.status();
  NodeFacts facts = std::move(hardware->facts);
  facts.host = options.host.empty() ? host_name() : options.host;
  facts.system = kernel_identity();
  if (hardware->is_this_system) respect_memory_limit(facts.numa);
  facts.storage = file_system_of(options.storage_path);
  for (const std::string& path : options.node_directories) {
    auto bank = bank_in_directory(on_node(path, options.node));
    if (bank) {
      bank->name = bank->path = path;  // the same on all nodes
      facts.directories.push_back(std::move(*bank));
    } else {
      facts.warnings.push_back(bank.status().message());
    }
  }
  facts.job_shape = scheduler_shape(options.environment);
  facts.switches = scheduler_switches(options.environment);
  for (const std::string& path : options.cray_names) {
    std::ifstream file{path};
    std::string name;
    if (facts.switches.empty() && std::getline(file, name)) facts.switches = switches_in_name(name);
  }
  if (facts.switches.empty()) facts.switches = switches_in_name(facts.host.substr(0, facts.host.find('.')));
  return facts;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<std::string> split_directories(std::string_view list) {
  std::vector<std::string> found;
  while (!list.empty()) {
    const auto end = std::min(list.find(':'), list.size());
    if (end > 0) found.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return found;
}

}  // namespace weir
