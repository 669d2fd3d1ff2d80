#pragma once

#include <functional>
#include <string>
#include <vector>

#include "request.hpp"

namespace weir::bench {

/// Runs a job, hands it the request and passes on its answers. Returns what went wrong, or nothing. A job that is
/// silent for `silence_s` is ended, as is one during which this process is interrupted.
std::string run_job(const std::vector<std::string>& command, const Request& request, double silence_s,
                    const std::function<void(const Answer&)>& each);

/// From now on SIGINT and SIGTERM end the job under way instead of this process; tells whether one came.
void catch_interrupts();
bool interrupted();

}  // namespace weir::bench
