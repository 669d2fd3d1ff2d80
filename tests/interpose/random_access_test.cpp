#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "interpose/random_type.hpp"
#include "mpi/world.hpp"

/// Random datatypes, views and sequences of accesses: on a file that Weir takes over, on one that is left to the MPI
/// library, and in a model. All must be equal, byte for byte and status for status.
namespace weir::testing {
namespace {

int small(Random& random, int least, int most) {
  return static_cast<int>(between(random, static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)));
}

/// A program's memory for one access.
class Buffer {
 public:
  Buffer(Random& random, const RandomType& type, int count) : type_{type} {
    std::int64_t low = 0, high = 0;
    bytes_ = static_cast<std::uint64_t>(count) * type.size();
    for (std::uint64_t i = 0; i < bytes_; ++i) {
      low = std::min(low, type[i]);
      high = std::max(high, type[i] + 1);
    }
    before_ = -low;
    contents_.resize(static_cast<std::size_t>(high - low));
    for (unsigned char& byte : contents_) byte = static_cast<unsigned char>(random());
  }
  [[nodiscard]] void* address() { return contents_.data() + before_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  unsigned char& operator[](std::uint64_t i) { return contents_[static_cast<std::size_t>(before_ + type_[i])]; }
  bool operator==(const Buffer& other) const { return contents_ == other.contents_; }

 private:
  const RandomType& type_;
  std::uint64_t bytes_ = 0;
  std::int64_t before_ = 0;
  std::vector<unsigned char> contents_;
};

/// What the library says about an access.
struct Told {
  int code = MPI_SUCCESS;
  int count = -1;
  MPI_Count elements = -1;
  MPI_Offset position = -1;
  bool operator==(const Told&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Told& told) {
  return out << fmt::format("code {} count {} elements {} position {}", told.code, told.count, told.elements,
                            told.position);
}

enum class Verb { at_all, all, at_all_split, all_split, iat_all, iall, at, plain, iat, iplain };
constexpr int verbs = 10,
              wild_verbs = 6;  // the others have the MPI library move data, through types that it may not know
constexpr const char* names[verbs] = {"at_all", "all", "at_all_begin", "all_begin", "iat_all", "iall",
                                      "at",     "",    "iat",          "i"};
bool is_collective(Verb verb) { return verb < Verb::at; }
bool has_offset(Verb verb) {
  return verb == Verb::at_all || verb == Verb::at_all_split || verb == Verb::iat_all || verb == Verb::at ||
         verb == Verb::iat;
}

int call_write(Verb verb, MPI_File f, MPI_Offset at, void* p, int n, MPI_Datatype t, MPI_Status* s) {
  MPI_Request r = MPI_REQUEST_NULL;
  const auto wait = [&](int code) { return code == MPI_SUCCESS ? MPI_Wait(&r, s) : code; };
  switch (verb) {
    case Verb::at_all: return MPI_File_write_at_all(f, at, p, n, t, s);
    case Verb::all: return MPI_File_write_all(f, p, n, t, s);
    case Verb::at_all_split: MPI_File_write_at_all_begin(f, at, p, n, t); return MPI_File_write_at_all_end(f, p, s);
    case Verb::all_split: MPI_File_write_all_begin(f, p, n, t); return MPI_File_write_all_end(f, p, s);
    case Verb::iat_all: return wait(MPI_File_iwrite_at_all(f, at, p, n, t, &r));
    case Verb::iall: return wait(MPI_File_iwrite_all(f, p, n, t, &r));
    case Verb::at: return MPI_File_write_at(f, at, p, n, t, s);
    case Verb::plain: return MPI_File_write(f, p, n, t, s);
    case Verb::iat: return wait(MPI_File_iwrite_at(f, at, p, n, t, &r));
    case Verb::iplain: return wait(MPI_File_iwrite(f, p, n, t, &r));
  }
  return MPI_ERR_INTERN;
}
int call_read(Verb verb, MPI_File f, MPI_Offset at, void* p, int n, MPI_Datatype t, MPI_Status* s) {
  MPI_Request r = MPI_REQUEST_NULL;
  const auto wait = [&](int code) { return code == MPI_SUCCESS ? MPI_Wait(&r, s) : code; };
  switch (verb) {
    case Verb::at_all: return MPI_File_read_at_all(f, at, p, n, t, s);
    case Verb::all: return MPI_File_read_all(f, p, n, t, s);
    case Verb::at_all_split: MPI_File_read_at_all_begin(f, at, p, n, t); return MPI_File_read_at_all_end(f, p, s);
    case Verb::all_split: MPI_File_read_all_begin(f, p, n, t); return MPI_File_read_all_end(f, p, s);
    case Verb::iat_all: return wait(MPI_File_iread_at_all(f, at, p, n, t, &r));
    case Verb::iall: return wait(MPI_File_iread_all(f, p, n, t, &r));
    case Verb::at: return MPI_File_read_at(f, at, p, n, t, s);
    case Verb::plain: return MPI_File_read(f, p, n, t, s);
    case Verb::iat: return wait(MPI_File_iread_at(f, at, p, n, t, &r));
    case Verb::iplain: return wait(MPI_File_iread(f, p, n, t, &r));
  }
  return MPI_ERR_INTERN;
}

class RandomAccesses : public World {
 protected:
  static constexpr std::array<const char*, 2> names_of_files{"taken.dat", "plain_mpi.dat"};  // settings name the second

  void open(bool tame) {
    tame_ = tame;
    // ROMIO leaves anything in holes behind the old end of a file.
    model_.assign(tame ? 60'000 * static_cast<std::size_t>(ranks()) : 0, 'x');
    for (const char* name : names_of_files)
      if (rank() == 0)
        std::ofstream{directory() + "/" + name, std::ios::binary}.write(reinterpret_cast<const char*>(model_.data()),
                                                                        static_cast<std::streamsize>(model_.size()));
    MPI_Barrier(MPI_COMM_WORLD);
    files_.assign(tame ? 2 : 1, MPI_FILE_NULL);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::string path = directory() + "/" + names_of_files[i];
      ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &files_[i]),
                MPI_SUCCESS);
      MPI_Info info = MPI_INFO_NULL;
      char text[MPI_MAX_INFO_VAL + 1] = {};
      int found = 0;
      ASSERT_EQ(MPI_File_get_info(files_[i], &info), MPI_SUCCESS);
      MPI_Info_get(info, "weir", MPI_MAX_INFO_VAL, text, &found);
      MPI_Info_free(&info);
      ASSERT_STREQ(text, i == 0 ? "collective" : "run.collective is mpi");
    }
    view_ = RandomType{MPI_BYTE};
    displacement_ = 0;
    element_ = 1;
    position_ = 0;
    disjoint_ = false;
  }
  void close() {
    for (MPI_File& file : files_) ASSERT_EQ(MPI_File_close(&file), MPI_SUCCESS);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const char* name = names_of_files[i];
      const auto found = contents(name);
      if (found == model_) continue;
      ADD_FAILURE() << name << " has " << found.size() << " bytes of " << model_.size() << ", the first wrong at "
                    << std::ranges::mismatch(found, model_).in1 - found.begin();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (const char* name : names_of_files)
      if (rank() == 0) std::filesystem::remove(directory() + "/" + name);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::vector<unsigned char> contents(const char* name) const {
    const std::string path = directory() + "/" + name;
    std::vector<unsigned char> bytes(std::filesystem::file_size(path));
    std::ifstream{path, std::ios::binary}.read(reinterpret_cast<char*>(bytes.data()),
                                               static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

  void set_view(Random& common, Random& own) {
    const MPI_Datatype kinds[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_SHORT};
    const RandomType basic{kinds[small(common, 0, 3)]};
    element_type_ = small(common, 0, 2) == 0
                        ? RandomType::make(common, basic, basic.extent(), RandomType::Order::ascending, 0)
                        : RandomType{basic.get()};
    if (element_type_.low() != 0 || element_type_.size() != static_cast<std::uint64_t>(element_type_.extent()))
      element_type_ = RandomType{basic.get()};
    element_ = static_cast<std::int64_t>(element_type_.size());
    const auto order = tame_ ? RandomType::Order::tame : RandomType::Order::ascending;
    RandomType tile = RandomType::make(own, element_type_, element_, order, tame_ ? 1 : small(common, 1, 3));
    std::int64_t slot = 0;
    for (std::uint64_t i = 0; i < tile.size(); ++i) slot = std::max(slot, tile[i] + 1);
    slot = (slot + element_ - 1) / element_ * element_;
    MPI_Allreduce(MPI_IN_PLACE, &slot, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    disjoint_ = small(common, 0, 3) != 0;
    view_ = disjoint_ ? tile.placed(1, rank() * slot, ranks() * slot) : std::move(tile);
    displacement_ = small(common, 0, 100);
    for (const MPI_File file : files_)
      ASSERT_EQ(MPI_File_set_view(file, displacement_, element_type_.get(), view_.get(), "native", MPI_INFO_NULL),
                MPI_SUCCESS);
    position_ = 0;
  }

  /// Where a visible byte lies in the file.
  [[nodiscard]] std::int64_t place(std::uint64_t byte) const { return displacement_ + view_[byte]; }

  void access(Random& common, Random& own) {
    const bool write = disjoint_ && small(common, 0, 1) == 0;
    const auto verb = static_cast<Verb>(small(common, 0, tame_ ? verbs - 1 : wild_verbs - 1));
    const bool takes_part = is_collective(verb) || small(own, 0, 1) == 0;
    const RandomType type =
        RandomType::make(own, element_type_, element_, tame_ ? RandomType::Order::tame : RandomType::Order::any,
                         tame_ ? 1 : small(own, 1, 2));
    const int count = small(own, tame_ ? 1 : 0, 3);
    const MPI_Offset at = has_offset(verb) ? small(own, 0, 40) : position_;
    SCOPED_TRACE(fmt::format("{} {} {} of {} bytes at {}", write ? "write" : "read", names[static_cast<int>(verb)],
                             count, type.size(), at));
    std::array<Told, 2> told;
    Buffer first{own, type, count};
    Buffer second = first, expected = first;
    const auto call = [&](std::size_t i, Verb how, Buffer& buffer) {
      MPI_Status status;
      told[i].code = (write ? call_write : call_read)(how, files_[i], at, buffer.address(), count, type.get(), &status);
      if (told[i].code == MPI_SUCCESS) MPI_Get_count(&status, type.get(), &told[i].count);
      if (told[i].code == MPI_SUCCESS) MPI_Get_elements_x(&status, type.get(), &told[i].elements);
    };
    if (takes_part) call(0, verb, first);
    // Open MPI's ROMIO has no non-blocking collective accesses: it crashes.
    const Verb blocking = verb == Verb::iat_all ? Verb::at_all : verb == Verb::iall ? Verb::all : verb;
    if (takes_part && tame_) call(1, blocking, second);
    for (std::size_t i = 0; i < files_.size(); ++i) MPI_File_get_position(files_[i], &told[i].position);

    const std::uint64_t before = static_cast<std::uint64_t>(at * element_);
    std::uint64_t moved = takes_part ? first.bytes() : 0;
    if (!write)
      for (moved = 0; takes_part && moved < first.bytes(); ++moved) {
        const auto from = static_cast<std::size_t>(place(before + moved));
        if (from >= model_.size()) break;
        expected[moved] = model_[from];
      }
    if (takes_part && !has_offset(verb)) position_ += static_cast<MPI_Offset>(first.bytes()) / element_;
    const bool whole = moved == first.bytes();  // ROMIO says that it has read bytes behind the end of a file
    if (takes_part && (whole || is_collective(verb))) {
      EXPECT_EQ(told[0].code, MPI_SUCCESS);
      EXPECT_EQ(told[0].count, moved % type.size() == 0 ? static_cast<int>(moved / type.size()) : MPI_UNDEFINED);
      EXPECT_EQ(told[0].position, position_);
      EXPECT_TRUE(first == expected) << "not what the file should hold";
    }
    if (takes_part && tame_ && whole) {
      EXPECT_EQ(told[0], told[1]) << "not what the MPI library says";
      EXPECT_TRUE(first == second) << "not what the MPI library reads";
    }
    // Where the pointer stands after a read to the end of the file is told differently by different libraries.
    if (!whole && !is_collective(verb)) position_ = told[0].position;
    if (!whole && tame_) MPI_File_seek(files_[1], position_, MPI_SEEK_SET);
    if (write) share(first, before, moved);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// What every rank wrote goes into every rank's model.
  void share(Buffer& written, std::uint64_t before, std::uint64_t bytes) {
    std::vector<std::int64_t> mine, all;
    for (std::uint64_t i = 0; i < bytes; ++i) mine.push_back(place(before + i) * 256 + written[i]);
    std::vector<int> counts(static_cast<std::size_t>(ranks())), starts(counts.size());
    const int count = static_cast<int>(mine.size());
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t i = 1; i < counts.size(); ++i) starts[i] = starts[i - 1] + counts[i - 1];
    all.resize(static_cast<std::size_t>(starts.back() + counts.back()));
    MPI_Allgatherv(mine.data(), count, MPI_INT64_T, all.data(), counts.data(), starts.data(), MPI_INT64_T,
                   MPI_COMM_WORLD);
    for (const std::int64_t byte : all) {
      const auto at = static_cast<std::size_t>(byte / 256);
      if (at >= model_.size()) model_.resize(at + 1);
      model_[at] = static_cast<unsigned char>(byte % 256);
    }
  }

  void seek(Random& own) {
    position_ = small(own, 0, 30);
    for (const MPI_File file : files_) ASSERT_EQ(MPI_File_seek(file, position_, MPI_SEEK_SET), MPI_SUCCESS);
    const MPI_Offset more = small(own, 0, 5);
    for (const MPI_File file : files_) ASSERT_EQ(MPI_File_seek(file, more, MPI_SEEK_CUR), MPI_SUCCESS);
    position_ += more;
  }

  void run(std::uint64_t seed, bool tame) {
    Random common{seed}, own{seed * 1000003 + static_cast<std::uint64_t>(rank())};
    open(tame);
    bool viewed = false;
    for (int i = 0; i < 8 && !any_rank(HasFailure()); ++i) {
      const int what = small(common, 0, 9);
      SCOPED_TRACE(fmt::format("rank {}, seed {}, access {}", rank(), seed, i));
      if (!viewed || what == 0)
        set_view(common, own);
      else if (what == 1)
        seek(own);
      else
        access(common, own);
      viewed = true;
    }
    close();
  }

  void run_all(bool tame) {
    const char* wanted = std::getenv("RANDOM_CASES");
    const char* first = std::getenv("RANDOM_SEED");
    const std::uint64_t cases = wanted ? std::strtoull(wanted, nullptr, 10) : 150;
    const std::uint64_t start = first ? std::strtoull(first, nullptr, 10) : 1;
    for (std::uint64_t seed = start; seed < start + cases; ++seed) {
      run(seed, tame);
      ASSERT_FALSE(any_rank(HasFailure())) << "RANDOM_SEED=" << seed << " RANDOM_CASES=1 repeats it";
    }
  }

 private:
  bool tame_ = true;
  std::vector<MPI_File> files_;
  RandomType element_type_{MPI_BYTE}, view_{MPI_BYTE};
  std::int64_t element_ = 1, displacement_ = 0;
  MPI_Offset position_ = 0;
  bool disjoint_ = false;  // no two ranks see the same bytes
  std::vector<unsigned char> model_;
};

TEST_F(RandomAccesses, are_the_same_through_weir_through_the_mpi_library_and_in_a_model) { run_all(true); }
TEST_F(RandomAccesses, through_any_types_are_the_same_through_weir_and_in_a_model) { run_all(false); }

}  // namespace
}  // namespace weir::testing
