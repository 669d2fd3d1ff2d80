#include "net/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/descriptor.hpp"
#include "core/errors.hpp"

namespace weir {

Result<std::string> read_private_file(const std::string& path, std::string_view what, std::size_t most_bytes) {
  const auto failed = [&](Code code, std::string_view reason, std::string_view remedy = {}) {
    return problem(
        code, [&] { return fmt::format("cannot read {} from '{}': {}", what, path, reason); }, remedy);
  };
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return failed(code_of(errno), reason_of(errno));
  if (!S_ISREG(facts.st_mode)) return failed(Code::invalid, "not a plain file");
  if (facts.st_uid != ::geteuid()) return failed(Code::access, fmt::format("it belongs to user {}", facts.st_uid));
  if ((facts.st_mode & 077) != 0) return failed(Code::access, "others may read or change it", "chmod 600 it");
  std::string contents(most_bytes + 1, '\0');
  std::size_t have = 0;
  for (ssize_t got = 1; got != 0 && have < contents.size();) {
    got = ::read(file.get(), contents.data() + have, contents.size() - have);
    if (got < 0 && errno != EINTR) return failed(code_of(errno), reason_of(errno));
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  if (have > most_bytes) return failed(Code::too_large, fmt::format("more than {} bytes", most_bytes));
  contents.resize(have);
  return contents;
}

Status write_private_file(const std::string& path, std::string_view contents) {
  const auto failed = [&](int error) {
    return problem(code_of(error), [&] { return fmt::format("cannot write '{}': {}", path, reason_of(error)); });
  };
  std::string temporary = path + ".XXXXXX";
  const Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};  // 0600
  if (!file) return failed(errno);
  int error = 0;
  if (const ssize_t written = ::write(file.get(), contents.data(), contents.size()); written < 0)
    error = errno;
  else if (static_cast<std::size_t>(written) < contents.size())
    error = ENOSPC;
  if (!error && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return {};
  ::unlink(temporary.c_str());
  return failed(error);
}

}  // namespace weir
