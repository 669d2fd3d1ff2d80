#include "open_file.hpp"

#include <sys/stat.h>
#include <xxhash.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

#include "errors.hpp"
#include "policy.hpp"
#include "real.hpp"
#include "shared_pointer_users.hpp"
#include "transfer.hpp"

namespace weir::interpose {

namespace {

std::mutex guard;
std::map<MPI_File, std::unique_ptr<OpenFile>> files;
std::atomic<std::uint64_t> changes{0};  // of the files that are open

// What ranks tell one another when they open a file.
constexpr std::uint64_t flag_failed = 1, flag_not_plain = 2, flag_refused = 4, flag_shared_pointers = 8;

/// MPI libraries let a name begin with that of a file system: "ufs:data".
std::string plain_name(const char* path) {
  std::string name{path};
  struct stat found {};
  if (const auto colon = name.find(':'); colon != std::string::npos && ::stat(path, &found) != 0)
    name.erase(0, colon + 1);
  std::error_code ignored;
  return std::filesystem::absolute(name, ignored).string();
}

std::uint64_t circumstances_of(const Settings& settings, dev_t device) {
  std::uint64_t hash = XXH3_64bits(&device, sizeof device);
  for (const auto& [key, value] : settings) {
    hash = XXH3_64bits_withSeed(key.data(), key.size(), hash);
    hash = XXH3_64bits_withSeed(value.data(), value.size(), hash);
  }
  return hash;
}

bool is_shared(MPI_Comm communicator) {
  int between = 1;
  if (communicator != MPI_COMM_NULL) PMPI_Comm_test_inter(communicator, &between);
  return between == 0;
}

}  // namespace

OpenFile* find(MPI_File handle) noexcept {
  struct Last {
    MPI_File handle = MPI_FILE_NULL;
    OpenFile* file = nullptr;
    std::uint64_t change = 0;
  };
  static thread_local Last last;  // most calls are for the same file as the one before
  const std::uint64_t change = changes.load(std::memory_order_acquire);
  if (last.handle == handle && last.change == change) return last.file;
  const std::lock_guard lock{guard};
  const auto found = files.find(handle);
  last = {handle, found == files.end() ? nullptr : found->second.get(), change};
  return last.file;
}

int opened(int code, MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* handle) {
  if (!is_shared(communicator) || !path) return code;
  auto file = std::make_unique<OpenFile>();
  std::uint64_t flags = code == MPI_SUCCESS ? 0 : flag_failed;
  Policy policy;
  if (code == MPI_SUCCESS) {
    struct stat found {};
    file->handle = *handle;
    file->path = plain_name(path);
    policy = Policy::of(file->path, info);
    if (::stat(file->path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) flags |= flag_not_plain;
    if (!policy.refusal.empty()) flags |= flag_refused;
    if (uses_shared_pointers()) flags |= flag_shared_pointers;
    file->circumstances = circumstances_of(policy.settings, found.st_dev);
    if (!(mode & MPI_MODE_SEQUENTIAL))
      pass(real().get_position, *handle, &file->position);  // may be the end: MPI_MODE_APPEND
  }
  file->company = Company::take(communicator, flags);
  if (flags & flag_failed) {  // the MPI library may have told only some ranks
    file->company->taken = false;
    return code != MPI_SUCCESS ? code : MPI_ERR_IO;
  }
  file->mode = mode;
  file->settings = std::move(policy.settings);
  file->defers_views = (flags & flag_shared_pointers) == 0;
  if (mode & MPI_MODE_SEQUENTIAL)
    file->refusal = "opened with MPI_MODE_SEQUENTIAL";
  else if (flags & flag_not_plain)
    file->refusal = "not a plain file";
  else if (flags & flag_refused)
    file->refusal = policy.refusal.empty() ? "refused on another rank" : policy.refusal;
  if (!policy.problem.ok() && file->company->rank() == 0)
    std::fprintf(stderr, "%s\n      '%s' is left to the MPI library\n", policy.problem.message().c_str(), path);
  const std::lock_guard lock{guard};
  files[*handle] = std::move(file);
  ++changes;
  return code;
}

const char* OpenFile::why_pass(Way way) const noexcept {
  if (!refusal.empty()) return refusal.c_str();
  if (atomic) return "atomic mode";
  if (!view.native()) return "data representation is not native";
  const int allowed = MPI_MODE_RDWR | (way == Way::read ? MPI_MODE_RDONLY : MPI_MODE_WRONLY);
  return mode & allowed ? nullptr : "not allowed by the mode of opening";
}

File* OpenFile::weir(Way way) {
  auto& file = way == Way::read ? reader : writer;
  if (file) return &*file;
  auto context = company->weir();
  Status status = context.status();
  if (context) {
    auto opened = way == Way::read ? (*context)->open(path, settings) : (*context)->update(path, settings);
    if (opened) return &file.emplace(std::move(*opened));
    status = opened.status();
  }
  refuse(status.message());
  return nullptr;
}

void OpenFile::refuse(std::string reason) {
  refusal = std::move(reason);
  view.tell_all(handle);
  pass(real().seek, handle, position, MPI_SEEK_SET);  // from now on the MPI library's pointer counts
}

Status OpenFile::close() {
  Status status;
  for (auto* file : {&writer, &reader}) {
    if (!*file) continue;
    const bool failed_before = (*file)->impl()->failed_steps > 0;  // which was told
    const Status closed = (*file)->close();
    if (!closed.ok() && status.ok() && !failed_before) status = closed;
    file->reset();
  }
  return status;
}

int OpenFile::fail(int code) const noexcept {
  PMPI_File_call_errhandler(handle, code);
  return code;
}
int OpenFile::fail(const Status& status) const noexcept { return fail(error_code(status)); }

int close(MPI_File* handle) {
  if (!handle || !find(*handle)) return pass(real().close, handle);
  std::unique_ptr<OpenFile> file;
  {
    const std::lock_guard lock{guard};
    file = std::move(files.extract(*handle).mapped());
    ++changes;
  }
  const Status status = file->close();
  if (Tally::wanted() && file->company->rank() == 0)
    std::fputs(file->tally.text(file->path, file->refusal).c_str(), stderr);
  const int told = status.ok() ? MPI_SUCCESS : file->fail(status);
  file->view.close_alone();
  const int code = pass(real().close, handle);
  file->company->taken = false;
  return code != MPI_SUCCESS ? code : told;
}

}  // namespace weir::interpose
