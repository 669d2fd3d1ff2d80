#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "collective.hpp"
#include "core/errors.hpp"
#include "plain_file.hpp"

namespace weir::bench {
namespace {

/// A file's bytes, one half after the other in the memory of two ranks, or of the only one, that all ranks see.
class Halves {
 public:
  Halves(MPI_Comm communicator, std::uint64_t bytes)
      : owners_{0, size_of(communicator) / 2}, places_{Piece{0, (bytes + 1) / 2}, Piece{(bytes + 1) / 2, bytes / 2}} {
    std::uint64_t own_bytes = 0;
    each_of(rank_of(communicator), [&](std::byte* /*memory*/, Piece place) { own_bytes += place.length; });
    void* own = nullptr;
    MPI_Win_allocate_shared(static_cast<MPI_Aint>(own_bytes), 1, MPI_INFO_NULL, communicator, &own, &window_);
    if (own_bytes > 0) std::memset(own, 1, own_bytes);
    for (std::size_t h = 0; h < 2; ++h) {
      MPI_Aint size = 0;
      int unit = 0;
      MPI_Win_shared_query(window_, owners_[h], &size, &unit, &memory_[h]);
    }
    if (owners_[0] == owners_[1]) memory_[1] += places_[0].length;
  }
  Halves(const Halves&) = delete;
  Halves& operator=(const Halves&) = delete;
  ~Halves() { MPI_Win_free(&window_); }

  /// use(memory, place in the file) for each half that this rank has.
  template <class Use>
  void each_of(int rank, Use use) const {
    for (std::size_t h = 0; h < 2; ++h)
      if (owners_[h] == rank) use(memory_[h], places_[h]);
  }

  /// use(memory, bytes before it in the piece, length) for each part of a piece.
  template <class Use>
  void each_part(Piece piece, Use use) const {
    for (std::size_t h = 0; h < 2; ++h) {
      const std::uint64_t from = std::max(piece.offset, places_[h].offset);
      const std::uint64_t to = std::min(piece.offset + piece.length, places_[h].offset + places_[h].length);
      if (from < to) use(memory_[h] + (from - places_[h].offset), from - piece.offset, to - from);
    }
  }

 private:
  std::array<int, 2> owners_;
  std::array<Piece, 2> places_;
  std::array<std::byte*, 2> memory_{};
  MPI_Win window_ = MPI_WIN_NULL;
};

/// What somebody would write by hand for one node: no plan, no limit of memory, no word to others when it fails.
class Sketch : public Mover {
 public:
  explicit Sketch(std::uint64_t file_bytes) : file_bytes_{file_bytes} {}

  [[nodiscard]] std::string name() const override { return "copies, barrier, two calls"; }

  void prepare(const Scene& scene, Operation /*operation*/, StepKind /*step*/) override {
    if (halves_) return;
    if (!on_one_node(scene.communicator)) throw Error{problem(Code::unsupported, "a sketch is for the ranks of one node")};
    halves_.emplace(scene.communicator, file_bytes_);
  }

  void move(const Scene& scene, Operation operation) override {
    const int rank = rank_of(scene.communicator);
    if (operation == Operation::read) {
      halves_->each_of(rank, [&](std::byte* memory, Piece place) {
        PlainFile file{scene.path, O_RDONLY};
        file.transfer(operation, memory, place);
        file.close();
      });
      MPI_Barrier(scene.communicator);
      copy(scene, operation);
      return;
    }
    std::optional<PlainFile> file;
    if (rank == 0) file.emplace(scene.path, scene.existing ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC);
    copy(scene, operation);
    MPI_Barrier(scene.communicator);
    halves_->each_of(rank, [&](std::byte* memory, Piece place) {
      if (!file) file.emplace(scene.path, O_WRONLY);
      file->transfer(operation, memory, place);
    });
    if (file) file->close();
    MPI_Barrier(scene.communicator);
  }

 private:
  void copy(const Scene& scene, Operation operation) const {
    for (std::size_t v = 0; v < scene.buffers.variables(); ++v) {
      std::byte* data = scene.buffers.data(v);
      for (const Piece& piece : scene.buffers.pieces(v)) {
        halves_->each_part({piece.offset + scene.buffers.part().variables[v].at, piece.length},
                           [&](std::byte* shared, std::uint64_t from, std::uint64_t length) {
                             if (operation == Operation::write) {
                               std::memcpy(shared, data + from, length);
                             } else {
                               std::memcpy(data + from, shared, length);
                             }
                           });
        data += piece.length;
      }
    }
  }

  std::uint64_t file_bytes_;
  std::optional<Halves> halves_;
};

}  // namespace

std::unique_ptr<Mover> sketch(std::uint64_t file_bytes) { return std::make_unique<Sketch>(file_bytes); }

}  // namespace weir::bench
