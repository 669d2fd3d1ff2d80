#pragma once

#include <string>
#include <vector>

namespace weir::tools {

/// The library that ranks load before all others to have their MPI-IO taken over: beside Weir's own. Empty when it is
/// not there.
std::string preload_library();

/// Arguments by which the launcher gives a variable to all ranks, wherever they run.
std::vector<std::string> give_variable(const std::string& name, const std::string& value);
/// LD_PRELOAD of ranks that load this library before those that they load anyway.
std::string preload_value(const std::string& library);

}  // namespace weir::tools
