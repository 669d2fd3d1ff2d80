#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/archive.hpp"
#include "machine/machine.hpp"

namespace weir {

/// Memory that is equally near to some cores.
struct NumaFacts {
  int index = 0;     ///< the operating system's
  std::string kind;  ///< "dram", "hbm", "nvram"
  Capacity capacity;
  Latency latency;
  Bandwidth read;
  Bandwidth write;

  bool operator==(const NumaFacts&) const = default;
};

/// Caches that are alike; level 0 is memory that caches other memory, such as MCDRAM in cache mode.
struct CacheFacts {
  int level = 1;
  int count = 0;
  Capacity each;

  bool operator==(const CacheFacts&) const = default;
};

struct BlockDevice {
  std::string name;  ///< "nvme0n1"
  std::string kind;  ///< "nvme", "ssd", "hdd", "nvram"; "disk" when nobody says whether it rotates
  Capacity size;

  bool operator==(const BlockDevice&) const = default;
};

struct NetworkDevice {
  std::string name;  ///< "eth0", "mlx5_0"
  std::string kind;  ///< "ethernet", "infiniband"
  Bandwidth bandwidth;

  bool operator==(const NetworkDevice&) const = default;
};

/// What one node has.
struct NodeFacts {
  std::string host;
  std::string system;              ///< the same for all that run on one kernel, so that they share what it has
  std::uint64_t shape = 0;         ///< a hash of processors, caches and memory: the same on equal nodes
  int cores = 0;
  std::vector<NumaFacts> numa;
  std::vector<CacheFacts> caches;
  std::vector<BlockDevice> disks;
  std::vector<NetworkDevice> networks;
  std::vector<Bank> directories;       ///< on node-local storage
  FileSystem storage;
  std::vector<std::string>
      switches;  ///< between the node and the top of the network, top first, where the scheduler tells
  std::vector<int> job_shape;  ///< lengths of the job's block of nodes, slowest first, where the scheduler tells
  std::vector<std::string> warnings;   ///< what was asked for and could not be found out

  bool operator==(const NodeFacts&) const = default;
};

void store(Writer& to, const NodeFacts& facts);
NodeFacts load_node_facts(Reader& from);

/// The memory of a node as banks, the fastest first: NUMA nodes of a kind are one bank with the sum of their capacities
/// and the speed of the slowest of them, because a buffer lies in one of them. What nothing tells is assumed.
std::vector<Bank> banks_of(const NodeFacts& facts);

/// Values that are usual for a kind of bank; unknown for a kind that is not known.
struct UsualFigures {
  Latency latency;
  Bandwidth read;
  Bandwidth write;
};
UsualFigures usual_figures(std::string_view kind);

}  // namespace weir
