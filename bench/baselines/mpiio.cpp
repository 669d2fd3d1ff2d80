#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "baselines/mpi_types.hpp"
#include "core/errors.hpp"
#include "mover.hpp"

namespace weir::bench {
namespace {

/// What the formulations share: opening, and one collective transfer.
class Mpiio : public Mover {
 public:
  Mpiio(const Scene& scene, const std::map<std::string, std::string>& hints, const FileCalls& calls) : calls_{calls} {
    if (scene.buffers.bytes() > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      throw Error{problem(Code::unsupported, "the MPI-IO baselines move at most 2 GiB a rank",
                          "choose a smaller size, or compare with posix")};
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  Mpiio(const Mpiio&) = delete;
  Mpiio& operator=(const Mpiio&) = delete;
  ~Mpiio() override { MPI_Info_free(&info_); }

  void prepare(const Scene& scene, Operation /*operation*/, StepKind step) override {
    if (step == StepKind::first) free_types();
    if (step == StepKind::repeated && !have_types()) make_types(scene);
  }

  void move(const Scene& scene, Operation operation) override {
    if (!have_types()) make_types(scene);
    int mode = operation == Operation::read ? MPI_MODE_RDONLY : MPI_MODE_WRONLY;
    if (operation == Operation::write && !scene.existing) mode |= MPI_MODE_CREATE;
    MPI_File file = MPI_FILE_NULL;
    check_mpi(calls_.open(scene.communicator, scene.path.c_str(), mode, info_, &file), "open '" + scene.path + "'");
    transfer(file, scene, operation);
    check_mpi(calls_.close(&file), "close '" + scene.path + "'");
  }

 protected:
  virtual void make_types(const Scene& scene) = 0;
  virtual void free_types() = 0;
  [[nodiscard]] virtual bool have_types() const = 0;
  virtual void transfer(MPI_File file, const Scene& scene, Operation operation) = 0;

  void set_view(MPI_File file, MPI_Offset at, const Type& type) const {
    check_mpi(calls_.set_view(file, at, MPI_BYTE, type.get(), "native", MPI_INFO_NULL), "set a view");
  }
  void all(MPI_File file, Operation operation, MPI_Offset at, void* data, int count, const Type& type) const {
    check_mpi(operation == Operation::write ? calls_.write_at_all(file, at, data, count, type.get(), MPI_STATUS_IGNORE)
                                            : calls_.read_at_all(file, at, data, count, type.get(), MPI_STATUS_IGNORE),
              operation == Operation::write ? "write" : "read");
  }

 private:
  FileCalls calls_;
  MPI_Info info_ = MPI_INFO_NULL;
};

class PerVariable : public Mpiio {
 public:
  PerVariable(const Scene& scene, const std::map<std::string, std::string>& hints, const FileCalls& calls)
      : Mpiio{scene, hints, calls} {
    for (const Decomposition& decomposition : scene.buffers.part().decompositions) {
      std::vector<TypeLists::Place> places;
      std::uint64_t memory = 0;
      for (const Piece& piece : pieces(decomposition)) {
        places.push_back({piece.offset, memory, piece.length});
        memory += piece.length;
      }
      lists_.emplace_back(std::move(places));
      needs_view_.push_back(lists_.back().file.lengths.size() > 1 ? 1 : 0);
    }
    MPI_Allreduce(MPI_IN_PLACE, needs_view_.data(), static_cast<int>(needs_view_.size()), MPI_INT, MPI_MAX,
                  scene.communicator);
  }
  [[nodiscard]] std::string name() const override { return "one call a variable"; }

 protected:
  struct Types {
    Type file, memory;
    MPI_Offset at = 0;  ///< of the file type, for a box that has a place of its own
  };

  [[nodiscard]] bool have_types() const override { return !types_.empty(); }
  void free_types() override { types_.clear(); }

  void make_types(const Scene& scene) override {
    for (std::size_t d = 0; d < lists_.size(); ++d) {
      Types& types = types_.emplace_back();
      const TypeLists& lists = lists_[d];
      const auto* box = std::get_if<Box>(&scene.buffers.part().decompositions[d]);
      if (needs_view_[d] == 0) continue;
      if (box != nullptr && lists.bytes > 0) {
        types.file = Type::subarray(*box);
        types.at = static_cast<MPI_Offset>(box->at);
      } else if (lists.bytes > 0) {
        types.file = Type::hindexed(lists.file.lengths, lists.file.displacements);
        if (lists.memory.lengths.size() > 1)
          types.memory = Type::hindexed(lists.memory.lengths, lists.memory.displacements);
      }
    }
  }

  void transfer(MPI_File file, const Scene& scene, Operation operation) override {
    for (std::size_t v = 0; v < scene.buffers.variables(); ++v) {
      const auto& variable = scene.buffers.part().variables[v];
      const auto d = static_cast<std::size_t>(variable.decomposition);
      const auto bytes = static_cast<int>(lists_[d].bytes);
      auto at = static_cast<MPI_Offset>(variable.at);
      if (needs_view_[d] != 0) {
        set_view(file, at + types_[d].at, types_[d].file);
        at = 0;
      } else {
        if (viewed_before(v, scene)) set_view(file, 0, Type{});
        if (bytes > 0) at += lists_[d].file.displacements.front();
      }
      const Type& memory = types_[d].memory;
      all(file, operation, at, scene.buffers.data(v), memory.derived() ? 1 : bytes, memory);
    }
  }

 private:
  [[nodiscard]] bool viewed_before(std::size_t variable, const Scene& scene) const {
    if (variable == 0) return false;
    return needs_view_[static_cast<std::size_t>(scene.buffers.part().variables[variable - 1].decomposition)] != 0;
  }

  std::vector<TypeLists> lists_;
  std::vector<int> needs_view_;  ///< on some rank the decomposition has several pieces
  std::vector<Types> types_;
};

class OneCall : public Mpiio {
 public:
  OneCall(const Scene& scene, const std::map<std::string, std::string>& hints)
      : Mpiio{scene, hints, FileCalls{}}, lists_{places(scene.buffers)} {}
  [[nodiscard]] std::string name() const override { return "one call, one type"; }

 protected:
  struct Types {
    Type file, memory;
  };

  static std::vector<TypeLists::Place> places(const Buffers& buffers) {
    std::vector<TypeLists::Place> result;
    for (std::size_t v = 0; v < buffers.variables(); ++v) {
      std::uint64_t memory = buffers.distance(v);
      for (const Piece& piece : buffers.pieces(v)) {
        result.push_back({buffers.part().variables[v].at + piece.offset, memory, piece.length});
        memory += piece.length;
      }
    }
    return result;
  }

  [[nodiscard]] bool have_types() const override { return types_.has_value(); }
  void free_types() override { types_.reset(); }

  void make_types(const Scene& /*scene*/) override {
    types_.emplace();
    if (lists_.bytes == 0) return;
    types_->file = Type::hindexed(lists_.file.lengths, lists_.file.displacements);
    types_->memory = Type::hindexed(lists_.memory.lengths, lists_.memory.displacements);
  }

  void transfer(MPI_File file, const Scene& scene, Operation operation) override {
    set_view(file, 0, types_->file);
    all(file, operation, 0, scene.buffers.base(), lists_.bytes > 0 ? 1 : 0, types_->memory);
  }

 private:
  TypeLists lists_;
  std::optional<Types> types_;
};

}  // namespace

FileCalls FileCalls::of_library() {
  Dl_info library{};
  void* handle = nullptr;
  if (::dladdr(::dlsym(RTLD_DEFAULT, "MPI_Comm_rank"), &library) != 0)  // which nothing takes over
    handle = ::dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  FileCalls calls;
  const auto find = [&]<class Function>(Function& function, const char* name) {
    function = handle ? reinterpret_cast<Function>(::dlsym(handle, name)) : nullptr;
    const bool taken_over = function && reinterpret_cast<void*>(function) == ::dlsym(RTLD_DEFAULT, name);
    if (!function || taken_over)
      throw Error{problem(Code::unsupported, std::string{"cannot find "} + name + " of the MPI library")};
  };
  find(calls.open, "MPI_File_open");
  find(calls.set_view, "MPI_File_set_view");
  find(calls.write_at_all, "MPI_File_write_at_all");
  find(calls.read_at_all, "MPI_File_read_at_all");
  find(calls.close, "MPI_File_close");
  return calls;
}

std::unique_ptr<Mover> mpiio_per_variable(const Scene& scene, const std::map<std::string, std::string>& hints,
                                          const FileCalls& calls) {
  return std::make_unique<PerVariable>(scene, hints, calls);
}

std::unique_ptr<Mover> mpiio_one_call(const Scene& scene, const std::map<std::string, std::string>& hints) {
  return std::make_unique<OneCall>(scene, hints);
}

}  // namespace weir::bench
