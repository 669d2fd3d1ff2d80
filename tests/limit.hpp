#pragma once

#include <sys/resource.h>

namespace weir {

/// A limit of the process that is put back at the end.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_{resource} {
    getrlimit(resource_, &before_);
    rlimit limit = before_;
    limit.rlim_cur = value;
    setrlimit(resource_, &limit);
  }
  ~Limit() { setrlimit(resource_, &before_); }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace weir
