#include "open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "background.hpp"
#include "core/errors.hpp"
#include "errors.hpp"
#include "handles.hpp"
#include "machine/posix_traits.hpp"
#include "policy.hpp"
#include "program.hpp"
#include "real.hpp"
#include "set_file.hpp"
#include "storage/storage_problem.hpp"
#include "transfer.hpp"

namespace weir::interpose {

namespace {

std::mutex guard;
std::map<MPI_File, std::unique_ptr<OpenFile>> files;
std::atomic<std::uint64_t> changes{0};  // of the files that are open

// What ranks tell one another when they open a file.
constexpr std::uint64_t flag_failed = 1, flag_not_plain = 2, flag_refused = 4, flag_shared_pointers = 8,
                        flag_at_once = 16, flag_not_alone = 32, flag_background = 64, flag_set = 128,
                        flag_no_new_set = 256, flag_no_threads = 512, flag_not_whole = 1024, flag_not_bare = 2048,
                        flag_absent = 4096, flag_lists = 1 << 14;

struct stat facts_of(int descriptor) noexcept {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) found = {};
  return found;
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

bool has_colon(const std::string& name) noexcept { return name.find(':') != std::string::npos; }

bool is_plain(const std::string& path) noexcept {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

/// What a name with a colon may stand for. Some MPI libraries take what is before it for a file system, as in "ufs:data",
/// others for a part of the name, as in "data_12:00"; which file they mean is seen when they have opened it.
class Readings {
 public:
  explicit Readings(const std::string& path)
      : whole{absolute_name(path)},
        bare{absolute_name(path.substr(path.find(':') + 1))},
        whole_before_{two() && is_plain(whole)},
        bare_before_{two() && is_plain(bare)} {}

  [[nodiscard]] bool two() const noexcept { return whole != bare; }
  /// Flags for those that the MPI library cannot have opened.
  [[nodiscard]] std::uint64_t wrong() const noexcept {
    if (!two()) return 0;
    const bool whole_now = is_plain(whole), bare_now = is_plain(bare);
    const bool is_whole = whole_now && (!bare_now || !whole_before_);
    const bool is_bare = bare_now && (!whole_now || (whole_before_ && !bare_before_));
    return (is_whole ? 0 : flag_not_whole) | (is_bare ? 0 : flag_not_bare);
  }

  std::string whole, bare;  ///< absolute

 private:
  bool whole_before_, bare_before_;
};

}  // namespace

std::string absolute_name(const std::string& name) {
  if (name.starts_with('/')) return name;
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string() + '/' + name;
}

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

bool any_open() noexcept {
  const std::lock_guard lock{guard};
  return !files.empty();
}

namespace {

void free_hints(OpenFile& file) noexcept {
  if (file.hints != MPI_INFO_NULL) PMPI_Info_free(&file.hints);
}

int kept(std::unique_ptr<OpenFile> file) {
  const std::lock_guard lock{guard};
  last_opened = file->handle;
  files[last_opened] = std::move(file);
  ++changes;
  return MPI_SUCCESS;
}

/// Whether the file may be opened without the MPI library, as far as this rank can tell.
bool can_wait(int mode, MPI_Info info, const Policy& policy) {
  const int way = mode & ~(MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN);
  const bool plain =
      way == MPI_MODE_RDWR || way == MPI_MODE_WRONLY || (way == MPI_MODE_RDONLY && !(mode & MPI_MODE_CREATE));
  return plain && policy.refusal.empty() && !places_file(info) && !uses_shared_pointers();
}

/// ext4 begins to store a file that was truncated as soon as somebody closes it, and who truncates it again has to wait for
/// that. As with MPI libraries somebody closes it before there is anything to be stored.
void close_once(const std::string& path) noexcept {
  if (const int again = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); again >= 0) ::close(again);
}

/// A descriptor for a plain file, or a negative number: then there is none, or the MPI library is to say what is wrong.
constexpr int no_file = -2;
int open_plain(const std::string& path, int mode) noexcept {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return -1;
  int flags = O_CLOEXEC | (mode & MPI_MODE_RDWR ? O_RDWR : mode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY);
  if (mode & MPI_MODE_CREATE) flags |= O_CREAT;
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), flags, 0666);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor >= 0 && ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode)) {
    if ((mode & MPI_MODE_CREATE) && found.st_size == 0) close_once(path);
    return descriptor;
  }
  if (descriptor < 0) return errno == ENOENT ? no_file : -1;
  ::close(descriptor);
  return -1;
}

/// Ranks may have come before another one had removed or replaced the file, or made it. Now that all are here they open
/// what is there, and none of them leaves before. Collective.
Status open_again(OpenFile& file) {
  if (file.company->rank() != 0) {
    if (file.descriptor >= 0) ::close(file.descriptor);
    file.descriptor = open_plain(file.path, file.mode & ~MPI_MODE_CREATE);
  }
  return file.company->agree(file.waits() ? Status{} : problem(Code::not_found, "cannot open '" + file.path + "' again"));
}

/// A file that cannot be opened after all.
int give_up(OpenFile& file, const Status& status) {
  file.forget();
  file.company->taken = false;
  free_hints(file);
  const int code = error_code(status);
  PMPI_File_call_errhandler(MPI_FILE_NULL, code);
  return code;
}

/// After the MPI library has, or has not, opened a file: takes note of it. Collective.
int opened(int code, std::unique_ptr<OpenFile> file, const Policy& policy, const Readings& readings, MPI_File& handle) {
  std::uint64_t flags = code == MPI_SUCCESS ? readings.wrong() : flag_failed;
  if (code == MPI_SUCCESS) {
    struct stat found {};
    file->handle = file->library = handle;
    if (flags & flag_not_whole) {
      file->path = readings.bare;
      if (is_set(file->path)) flags |= flag_set;
    }
    if (::stat(file->path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) flags |= flag_not_plain;
    if (!policy.refusal.empty()) flags |= flag_refused;
    if (uses_shared_pointers()) flags |= flag_shared_pointers;
    file->circumstances = circumstances_of(policy.settings, found.st_dev);
    if (!(file->mode & MPI_MODE_SEQUENTIAL))
      pass(real().get_position, handle, &file->position);  // may be the end: MPI_MODE_APPEND
  }
  PMPI_Allreduce(MPI_IN_PLACE, &flags, 1, MPI_UINT64_T, MPI_BOR, file->company->communicator);
  if (flags & flag_failed) {  // the MPI library may have told only some ranks
    file->company->taken = false;
    free_hints(*file);
    return code != MPI_SUCCESS ? code : MPI_ERR_IO;
  }
  if (flags & flag_set) {
    pass(real().close, &handle);
    file->handle = MPI_FILE_NULL;
    return give_up(*file, not_in_a_set(*file, "the MPI library has to open it"));
  }
  file->defers_views = (flags & flag_shared_pointers) == 0;
  if (file->mode & MPI_MODE_SEQUENTIAL)
    file->refusal = "opened with MPI_MODE_SEQUENTIAL";
  else if (flags & flag_not_plain)
    file->refusal = "not a plain file";
  else if ((flags & flag_not_whole) && (flags & flag_not_bare))
    file->refusal = "its name may stand for another file too";
  else if (flags & flag_refused)
    file->refusal = policy.refusal.empty() ? "refused on another rank" : policy.refusal;
  if (!policy.problem.ok() && file->company->rank() == 0)
    std::fprintf(stderr, "%s\n      '%s' is left to the MPI library\n", policy.problem.message().c_str(),
                 file->path.c_str());
  return kept(std::move(file));
}

/// What this rank knows about whether the file is, or is to become, a set.
std::uint64_t set_flags(int rank, const OpenFile& file, const Policy& policy) {
  const bool empty = file.waits() && facts_of(file.descriptor).st_size == 0;
  const bool made_here = (file.mode & MPI_MODE_CREATE) && (file.mode & MPI_MODE_EXCL);
  std::uint64_t flags = 0;
  if ((rank == 0 && !empty) || !policy.sub_files || (file.mode & MPI_MODE_RDONLY)) flags |= flag_no_new_set;
  if (rank == 0 && !empty && !made_here && policy.refusal.empty() && is_set(file.path)) flags |= flag_set;
  return flags;
}

}  // namespace

int open(MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* handle,
         const std::function<int()>& passing) {
  if (!is_shared(communicator) || !path || !handle) return passing();
  auto file = std::make_unique<OpenFile>();
  const Readings readings{path};
  file->given = path;
  file->path = readings.whole;
  file->mode = mode;
  add_hints(info, file->hints);
  const Policy policy = Policy::of(file->path, info);
  file->settings = policy.settings;
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  // Only the first makes a file: as with MPI libraries, it may look before whether there is one.
  if (!has_colon(file->path) && can_wait(mode, info, policy))
    file->descriptor = open_plain(file->path, rank == 0 ? mode : mode & ~MPI_MODE_CREATE);
  const bool absent = rank != 0 && file->descriptor == no_file && (mode & MPI_MODE_CREATE);
  if (file->waits() || absent) file->handle = take_handle();
  // No bit of the mode is both set and not set somewhere.
  std::uint64_t flags = static_cast<std::uint64_t>(mode & 0xffff) << 16 | static_cast<std::uint64_t>(~mode & 0xffff)
                                                                              << 32;
  if (file->handle == MPI_FILE_NULL) flags |= flag_at_once;
  if (absent) flags |= flag_absent;
  if (!policy.ranks_may_go_alone) flags |= flag_not_alone;
  if (uses_background()) flags |= flag_background;
  if (!mpi_allows_threads()) flags |= flag_no_threads;
  if (uses_lists()) flags |= flag_lists;
  flags |= set_flags(rank, *file, policy);
  file->company = Company::take(communicator, flags, file->waits() ? facts_of(file->descriptor).st_ino : 0);
  if (!(flags & flag_at_once) && (flags & (flag_absent | Company::different)) && !open_again(*file).ok())
    flags |= flag_at_once;
  file->lists = (flags & flag_lists) != 0;
  const bool same_mode = (flags >> 16 & flags >> 32 & 0xffff) == 0;
  if (flags & flag_set) {
    file->form = Form::set;
    const Status status =
        flags & flag_at_once ? not_in_a_set(*file, "the MPI library has to open it") : measure_set(*file);
    if (!status.ok()) return give_up(*file, status);
  } else if (same_mode && !(flags & flag_no_new_set)) {
    file->form = Form::new_set;
  }
  if ((flags & flag_at_once) || !same_mode) {
    file->forget();
    const int code = passing();
    return opened(code, std::move(file), policy, readings, *handle);
  }
  *handle = file->handle;
  if (flags & flag_background) (void)file->company->weir();  // there is no meeting when such an access begins
  file->circumstances = circumstances_of(policy.settings, facts_of(file->descriptor).st_dev);
  file->defers_views = true;
  file->mpi_in_threads = (flags & flag_no_threads) == 0;
  file->may_go_alone = file->goes_alone = (flags & flag_not_alone) == 0 && file->form == Form::file;
  file->local = posix_traits(file->path).local;
  file->view.wait();
  return kept(std::move(file));
}

const char* OpenFile::why_pass(Way way) const noexcept {
  if (!refusal.empty()) return refusal.c_str();
  if (atomic) return "atomic mode";
  if (!view.native()) return "data representation is not native";
  const int allowed = MPI_MODE_RDWR | (way == Way::read ? MPI_MODE_RDONLY : MPI_MODE_WRONLY);
  return mode & allowed ? nullptr : "not allowed by the mode of opening";
}

Result<File*> OpenFile::open_weir(Way way) {
  auto& file = way == Way::read ? reader : writer;
  if (file) return &*file;
  auto context = company->weir();
  if (!context) return context.status();
  auto opened = form != Form::file ? open_in_set(*this, **context, way)
                : way == Way::read ? (*context)->open(path, settings)
                                   : (*context)->update(path, settings);
  if (!opened) return opened.status();
  return &file.emplace(std::move(*opened));
}

bool OpenFile::can_go_on_beside() const noexcept {
  return waits() && company->context && (company->is_on_one_node() || mpi_in_threads);
}

int OpenFile::open_library() {
  if (library == MPI_FILE_NULL) {
    std::string name = name_now();
    name.resize(PATH_MAX);
    PMPI_Bcast(name.data(), PATH_MAX, MPI_CHAR, 0, company->communicator);
    const int plain = mode & ~MPI_MODE_CREATE;
    if (const int code = pass(real().open, company->communicator, name.c_str(), plain, hints, &library);
        code != MPI_SUCCESS)
      return code;
    PMPI_File_set_errhandler(library, MPI_ERRORS_RETURN);
  }
  return view.tell_all(library, hints);
}

int OpenFile::alone(MPI_File& result) {
  result = view.pending() ? view.ready_alone() : library;
  return result == MPI_FILE_NULL ? view.open_alone(name_now(), mode, hints, result) : MPI_SUCCESS;
}

std::string OpenFile::name_now() const {
  struct stat now {
  }, then{};
  if (!waits()) return has_colon(path) || has_colon(given) ? given : path;
  if (::fstat(descriptor, &then) != 0) return path;
  if (::stat(path.c_str(), &now) == 0 && now.st_ino == then.st_ino && now.st_dev == then.st_dev) return path;
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor);
}

void OpenFile::forget() noexcept {
  if (waits()) ::close(std::exchange(descriptor, -1));
  if (handle != MPI_FILE_NULL) give_back(std::exchange(handle, MPI_FILE_NULL));
}

Status OpenFile::take(const Policy& policy) {
  if (!refusal.empty() || form != Form::file) return {};
  const std::uint64_t wanted = circumstances_of(policy.settings, facts_of(descriptor).st_dev);
  std::array<std::uint64_t, 3> any{wanted, ~wanted, policy.refusal.empty() ? 0 : flag_refused};
  if (!policy.ranks_may_go_alone) any[2] |= flag_not_alone;
  PMPI_Allreduce(MPI_IN_PLACE, any.data(), 3, MPI_UINT64_T, MPI_BOR, company->communicator);
  if (any[2] & flag_refused) {
    refuse(policy.refusal.empty() ? "refused on another rank" : policy.refusal);
    return {};
  }
  const bool same = (any[0] & any[1]) == 0;  // no bit is both set and not set somewhere
  if (!same || wanted == circumstances) return {};
  settings = policy.settings;
  circumstances = wanted;
  may_go_alone = goes_alone = (any[2] & flag_not_alone) == 0;
  return close();
}

void OpenFile::refuse(std::string reason) {
  refusal = std::move(reason);
  // From now on the MPI library's pointer counts.
  if (open_library() == MPI_SUCCESS) pass(real().seek, library, position, MPI_SEEK_SET);
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
  file->settle();
  complete_background();
  close_own_reader(*file);
  Status status = file->close();
  if (Tally::wanted() && file->company->rank() == 0)
    std::fputs(file->tally.text(file->path, file->refusal).c_str(), stderr);
  file->view.close_alone();
  if (file->waits()) {
    Status mine = ::close(std::exchange(file->descriptor, -1)) == 0 || errno == EINTR
                      ? Status{}
                      : storage_problem(errno, "close", file->path);
    mine = file->company->agree(mine);
    if (status.ok()) status = mine;
  }
  int told = status.ok() ? MPI_SUCCESS : file->fail(status);
  const bool own = file->handle != file->library;
  int code = file->library == MPI_FILE_NULL ? MPI_SUCCESS : pass(real().close, &file->library);
  if (own && code != MPI_SUCCESS) file->fail(code);
  if (own) file->forget();
  free_hints(*file);
  *handle = MPI_FILE_NULL;
  file->company->taken = false;
  return code != MPI_SUCCESS ? code : told;
}

}  // namespace weir::interpose
