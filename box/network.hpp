#pragma once

#include "box/state.hpp"

namespace weir::box {

/// Links, addresses, routes and rates of all hosts, which are up. Throws `Error`.
void make_network(const State& state);

/// Changes what a link between two neighbours carries, both ways.
void set_rate(const State& state, const std::string& a, const std::string& b, const Rate& rate);
/// A link is dead, or back. Throws `Error` when the two are no neighbours.
void set_link(const State& state, const std::string& a, const std::string& b, bool up);
/// All links of a host, and its way to the front end.
void set_links(const State& state, const std::string& host, bool up);

}  // namespace weir::box
