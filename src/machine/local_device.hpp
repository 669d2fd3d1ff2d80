#pragma once

#include <string>

#include "machine/node_facts.hpp"

namespace weir {

/// "nvme", "ssd", "hdd", "nvram", or "disk" when the system does not say whether it rotates. `name` as in /sys/block.
std::string kind_of_disk(const std::string& name);

/// What the system says a network device can carry; unknown when it is down or virtual.
Bandwidth bandwidth_of_network(const std::string& name, const std::string& kind);

/// A directory as it is on a node: {node} stands for the node's number in the job.
std::string on_node(std::string directory, int node);

/// A node-local directory as a bank: what it is made of, and the space that is free now. An error when it is no
/// directory in which files can be made.
Result<Bank> bank_in_directory(const std::string& path);

/// Where the file system of a path begins, so that all that is below it has the same name; the path when it is not
/// there.
std::string mount_point(const std::string& path);

/// The file system in which `path` is, or will be.
FileSystem file_system_of(const std::string& path);

/// The most memory that this process's control group lets it use; 0 when there is no limit.
std::uint64_t memory_limit();

}  // namespace weir
