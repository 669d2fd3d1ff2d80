#pragma once

#include "storage/storage.hpp"

namespace weir {

/// One transfer from its start to its end.
inline void complete(Storage& storage, Io& io) noexcept {
  storage.submit(io);
  while (!io.finished) storage.wait();
}

}  // namespace weir
