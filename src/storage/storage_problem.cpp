#include "storage/storage_problem.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <new>

#include "core/errors.hpp"

namespace weir {
namespace {

std::string file_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::to_string(limit.rlim_cur);
}

std::string remedy_for(int error, const std::string& path) {
  switch (error) {
    case ENOENT: return "check the name, and that directory '" + directory_of(path) + "' exists";
    case ENOTDIR: return "a part of the path is a file: name a directory there";
    case EISDIR: return "name a file in this directory";
    case EACCES:
    case EPERM: return "change the permissions of the file or of directory '" + directory_of(path) + "'";
    case EROFS: return "choose a path on a file system that is mounted for writing";
    case ENOSPC: return "free space or inodes, or choose a path on another file system";
    case EDQUOT: return "remove files, ask for more quota, or choose a path on another file system";
    case EFBIG: return "raise the limit of file sizes (ulimit -f), or choose a file system that has larger files";
    case EMFILE: return "raise the limit of open files (ulimit -n), now " + file_limit() + " a process";
    case ENFILE: return "the whole machine is out of open files: ask its administrator";
    case ENAMETOOLONG: return "shorten the path";
    case ELOOP: return "symbolic links in the path lead in a circle: remove one";
    case EXDEV: return "both names must be on the same file system";
    case EIO: return "the device or the network behind it failed: the file's content is not to be trusted";
    case ESTALE: return "the server no longer knows the file: open it again";
    default: return {};
  }
}

}  // namespace

Status storage_problem(int error, std::string_view verb, const std::string& path, std::string_view detail) noexcept {
  try {
    std::string action{verb};
    action.append(" '").append(path).append("'").append(detail);
    return system_problem(error, action, remedy_for(error, path));
  } catch (const std::bad_alloc&) {
    return {code_of(error), {}};
  }
}

}  // namespace weir
