#include "core/errors.hpp"

#include <cerrno>
#include <cstring>
#include <new>

namespace weir {

const char* name(Code code) noexcept {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid: return "invalid";
    case Code::mismatch: return "mismatch";
    case Code::settings: return "settings";
    case Code::finalized: return "finalized";
    case Code::no_space: return "no_space";
    case Code::quota: return "quota";
    case Code::too_large: return "too_large";
    case Code::read_only: return "read_only";
    case Code::access: return "access";
    case Code::not_found: return "not_found";
    case Code::exists: return "exists";
    case Code::too_many_files: return "too_many_files";
    case Code::no_memory: return "no_memory";
    case Code::end_of_file: return "end_of_file";
    case Code::corrupt: return "corrupt";
    case Code::unsupported: return "unsupported";
    case Code::io: return "io";
    case Code::internal: return "internal";
  }
  return "unknown";
}

Code code_of(int error) noexcept {
  switch (error) {
    case 0: return Code::ok;
    case ENOSPC: return Code::no_space;
    case EDQUOT: return Code::quota;
    case EFBIG: case EOVERFLOW: return Code::too_large;
    case EROFS: return Code::read_only;
    case EACCES: case EPERM: return Code::access;
    case ENOENT: case ENOTDIR: return Code::not_found;
    case EEXIST: case EISDIR: return Code::exists;
    case EMFILE: case ENFILE: return Code::too_many_files;
    case ENOMEM: return Code::no_memory;
    case EINVAL: case ENAMETOOLONG: case ELOOP: return Code::invalid;
    case EOPNOTSUPP: case ENOSYS: return Code::unsupported;
    default: return Code::io;
  }
}

const char* reason_of(int error) noexcept {
  const char* text = strerrordesc_np(error);
  return text ? text : "unknown error";
}

Status problem(Code code, std::string_view what, std::string_view remedy) noexcept {
  try {
    std::string message = "weir: ";
    message += what;
    if (!remedy.empty()) message.append("\n      ").append(remedy);
    return {code, std::move(message)};
  } catch (const std::bad_alloc&) {
    return {code, {}};
  }
}

Status system_problem(int error, std::string_view action, std::string_view remedy) noexcept {
  try {
    return problem(code_of(error), std::string{"cannot "}.append(action).append(": ").append(reason_of(error)), remedy);
  } catch (const std::bad_alloc&) {
    return {code_of(error), {}};
  }
}

}  // namespace weir
