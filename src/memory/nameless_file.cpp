#include "memory/nameless_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace weir {

int nameless_file(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  std::string name = directory + "/.weir-bank-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

int reserve_space(int descriptor, unsigned long long bytes) noexcept {
  int error = 0;
  do error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  return error;
}

}  // namespace weir
