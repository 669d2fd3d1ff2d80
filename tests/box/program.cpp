// Moves a file of interleaved small pieces through Weir, or checks it by plain calls from any host:
//   program write|update|read|turns|loop FILE SEED     as an MPI job
//   program mpiio FILE SEED                            the same in turns by MPI-IO, to be run under `weir run`
//   program stale FILE SEED                            whether hosts see old pages of a file that they keep open
//   program check FILE SEED RANKS                      alone
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <weir/weir.hpp>

namespace {

constexpr std::uint64_t piece = 997, count = 100;

std::uint8_t value_at(std::uint64_t offset, std::uint64_t seed) {
  return static_cast<std::uint8_t>(((offset + 1) * 0x9E3779B97F4A7C15U + seed * 0xBF58476D1CE4E5B9U) >> 37);
}

/// The pieces of one rank, what they hold, and whether they do.
struct Part {
  int rank, ranks;

  [[nodiscard]] weir::Run run() const {
    return {static_cast<std::uint64_t>(rank) * piece, piece, static_cast<std::uint64_t>(ranks) * piece, count};
  }
  [[nodiscard]] std::vector<std::uint8_t> data(std::uint64_t seed) const {
    std::vector<std::uint8_t> bytes;
    for (std::uint64_t k = 0; k < count; ++k)
      for (std::uint64_t i = 0; i < piece; ++i) bytes.push_back(value_at(run().offset + k * run().stride + i, seed));
    return bytes;
  }
};

class Job {
 public:
  explicit Job(std::string path) : path_{std::move(path)} {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  void write(std::uint64_t seed, bool in_place) {
    weir::File file = (in_place ? context_.update(path_) : context_.create(path_)).value();
    const Part part{rank_, ranks_};
    weir::Step step = file.declare({part.run()}).value();
    const auto data = part.data(seed);
    step.write(0, data).value();
    file.close(step).value();
  }

  /// What the rank `after` this one wrote.
  void read(std::uint64_t seed, int after) {
    weir::File file = context_.open(path_).value();
    const Part part{(rank_ + after) % ranks_, ranks_};
    weir::Step step = file.declare({part.run()}).value();
    std::vector<std::uint8_t> back(piece * count);
    step.read(0, back).value();
    file.close(step).value();
    if (back != part.data(seed))
      throw std::runtime_error{fmt::format("rank {} read wrong bytes of seed {}", rank_, seed)};
  }

  void turns(std::uint64_t seed) {
    for (int turn = 0; turn < 4; ++turn, ++seed) {
      write(seed, true);
      read(seed, 1 + turn * ranks_ / 4);
    }
  }

  /// The file stays open: written in one partition, read in others.
  void mpiio(std::uint64_t seed) const {
    MPI_File file = MPI_FILE_NULL;
    MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int turn = 0; turn < 4; ++turn, ++seed) {
      const Part mine{rank_, ranks_};
      const auto data = mine.data(seed);
      view(file, mine);
      MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(data.size()), MPI_BYTE, MPI_STATUS_IGNORE);
      MPI_File_sync(file);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File_sync(file);
      const Part other{(rank_ + 1 + turn * ranks_ / 4) % ranks_, ranks_};
      std::vector<std::uint8_t> back(data.size());
      view(file, other);
      MPI_File_read_at_all(file, 0, back.data(), static_cast<int>(back.size()), MPI_BYTE, MPI_STATUS_IGNORE);
      if (back != other.data(seed))
        throw std::runtime_error{fmt::format("rank {} read wrong bytes in turn {}", rank_, turn)};
      // A part of the file that one rank alone wants is read by others than those who wrote it.
      const std::uint64_t whole = piece * count * static_cast<std::uint64_t>(ranks_), half = rank_ == 0 ? whole / 2 : 0;
      MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
      back.resize(half);
      MPI_File_read_at_all(file, static_cast<MPI_Offset>(turn % 2 * half), back.data(), static_cast<int>(half),
                           MPI_BYTE, MPI_STATUS_IGNORE);
      for (std::uint64_t i = 0; i < half; ++i)
        if (back[i] != value_at(turn % 2 * half + i, seed))
          throw std::runtime_error{fmt::format("byte {} is wrong in turn {}", i, turn)};
    }
    MPI_File_close(&file);
  }

  /// Fails when all hosts see what the first wrote.
  void stale() const {
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT, 0644);
    std::vector<char> page(4096), old(4096, 'o'), fresh(4096, 'f');
    if (rank_ == 0 && ::pwrite(file, old.data(), old.size(), 0) < 0) throw std::runtime_error{"cannot write"};
    MPI_Barrier(MPI_COMM_WORLD);
    if (::pread(file, page.data(), page.size(), 0) < 0) throw std::runtime_error{"cannot read"};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0 && ::pwrite(file, fresh.data(), fresh.size(), 0) < 0) throw std::runtime_error{"cannot write"};
    MPI_Barrier(MPI_COMM_WORLD);
    if (::pread(file, page.data(), page.size(), 0) < 0) throw std::runtime_error{"cannot read"};
    int seen = page[0] == 'o', all = 0;
    MPI_Allreduce(&seen, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ::close(file);
    if (all == 0) throw std::runtime_error{"nobody sees old pages"};
  }

  void loop(std::uint64_t seed) {
    for (int step = 0; step < 2000; ++step) {
      write(seed, false);
      if (rank_ == 0) fmt::print("step {}\n", step), std::fflush(stdout);
    }
  }

 private:
  static void view(MPI_File file, const Part& part) {
    MPI_Datatype pieces = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(count, piece, static_cast<MPI_Aint>(part.run().stride), MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File_set_view(file, static_cast<MPI_Offset>(part.run().offset), MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    MPI_Type_free(&pieces);
  }

  weir::Context context_{MPI_COMM_WORLD};
  std::string path_;
  int rank_ = 0, ranks_ = 1;
};

void check(const std::string& path, std::uint64_t seed, int ranks) {
  std::ifstream file{path, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
  if (bytes.size() != piece * count * static_cast<std::uint64_t>(ranks))
    throw std::runtime_error{fmt::format("'{}' has {} bytes", path, bytes.size())};
  for (std::uint64_t at = 0; at < bytes.size(); ++at)
    if (static_cast<std::uint8_t>(bytes[at]) != value_at(at, seed))
      throw std::runtime_error{fmt::format("byte {} of '{}' is wrong", at, path)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argv[1], path = argv[2];
  const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  try {
    if (mode == "check") return check(path, seed, std::atoi(argv[4])), 0;
    MPI_Init(&argc, &argv);
    {
      Job job{path};
      if (mode == "write" || mode == "update") job.write(seed, mode == "update");
      if (mode == "read") job.read(seed, 1);
      if (mode == "turns") job.turns(seed);
      if (mode == "mpiio") job.mpiio(seed);
      if (mode == "stale") job.stale();
      if (mode == "loop") job.loop(seed);
    }
    MPI_Finalize();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::fflush(stderr);
    if (mode != "check") MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}
