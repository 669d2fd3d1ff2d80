#include "resident_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace weir::bench {
namespace {

std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == key && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

ResidentMemory::ResidentMemory() {
  malloc_trim(0);
  std::ofstream{"/proc/self/clear_refs"} << "5";  // the peak (VmHWM) starts again from the present size
  before_ = status_bytes("VmRSS:");
}

std::uint64_t ResidentMemory::peak_growth() const {
  const std::uint64_t peak = status_bytes("VmHWM:");
  return peak > before_ ? peak - before_ : 0;
}

}  // namespace weir::bench
