#pragma once

#include <string>
#include <weir/status.hpp>

#include "exchange/team.hpp"

namespace weir::interpose {

/// Stores what the ranks of the node have handed over. Each of them alone would wait for the file's lock; whoever arrives
/// last needs one call for all that lies together.
Status store_handed(Team& team, int descriptor, const std::string& path);

}  // namespace weir::interpose
