#include "long_type.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "real.hpp"
#include "repetition.hpp"

namespace weir::interpose {

namespace {

/// A list that has fewer pieces is made soon enough.
constexpr std::size_t long_list = 4096;
/// And one of which a larger part has to be kept saves nothing.
constexpr std::size_t most_kept = 4;

std::atomic<bool> any_made{false};

int forget_list(MPI_Datatype /*type*/, int /*key*/, void* known, void* /*extra*/) {
  delete static_cast<LongType*>(known);
  return MPI_SUCCESS;
}

/// What a type has its LongType under.
int list_key() {
  static const int made = [] {
    int value = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_list, &value, nullptr);
    return value;
  }();
  return made;
}

using Parts = std::vector<LongType::Part>;

Parts parts_of(std::span<const int> lengths, const MPI_Aint* places) {
  Parts parts;
  std::size_t kept = 0, next = 0;
  const auto add = [&](std::size_t first, std::size_t end, std::size_t times, MPI_Aint distance) {
    if (first == end) return;
    const auto some = lengths.subspan(first, end - first);
    LongType::Part& part = parts.emplace_back(LongType::Part{{some.begin(), some.end()}, {}, times, distance});
    for (std::size_t i = first; i < end; ++i) part.places.push_back(places[i] - places[0]);
    kept += some.size();
  };
  const auto same = [&](std::size_t i, std::size_t j) { return lengths[i] == lengths[j]; };
  const auto same_step = [&](std::size_t i, std::size_t j) {
    return same(i, j) && places[i + 1] - places[i] == places[j + 1] - places[j];
  };
  for (const Repetition& found : repetitions(lengths.size(), same_step, same)) {
    add(next, found.first, 1, 0);
    add(found.first, found.first + found.period, found.count, places[found.first + found.period] - places[found.first]);
    next = found.end();
  }
  if (kept + lengths.size() - next > lengths.size() / most_kept) return {};
  add(next, lengths.size(), 1, 0);
  return parts;
}

/// Whether a list is made of these parts.
bool is_of(const Parts& parts, std::span<const int> lengths, const MPI_Aint* places) noexcept {
  std::size_t next = 0;
  for (const LongType::Part& part : parts) {
    const std::size_t pieces = part.lengths.size();
    if (pieces * part.times > lengths.size() - next) return false;
    for (std::size_t time = 0; time < part.times; ++time, next += pieces) {
      const auto base = static_cast<std::uint64_t>(places[0] + static_cast<MPI_Aint>(time) * part.distance);
      std::uint64_t differs = 0;  // all of them are compared without a branch
      for (std::size_t i = 0; i < pieces; ++i)
        differs |= static_cast<std::uint64_t>(lengths[next + i] ^ part.lengths[i]) |
                   (static_cast<std::uint64_t>(places[next + i]) ^ (static_cast<std::uint64_t>(part.places[i]) + base));
      if (differs != 0) return false;
    }
  }
  return next == lengths.size();
}

/// The parts of the last lists. Programs make the same one again for every record, elsewhere in the file: it takes less to
/// see that than what repeats itself.
class LastLists {
 public:
  std::shared_ptr<const Parts> find(std::span<const int> lengths, const MPI_Aint* places) {
    const std::lock_guard lock{guard_};
    for (const auto& parts : parts_)
      if (parts && is_of(*parts, lengths, places)) return parts;
    return nullptr;
  }
  void keep(std::shared_ptr<const Parts> parts) {
    const std::lock_guard lock{guard_};
    parts_[next_++ % parts_.size()] = std::move(parts);
  }

 private:
  std::mutex guard_;
  std::array<std::shared_ptr<const Parts>, 4> parts_;
  std::size_t next_ = 0;
};
LastLists last_lists;

std::shared_ptr<const Parts> known_or_found(std::span<const int> lengths, const MPI_Aint* places) {
  if (auto known = last_lists.find(lengths, places)) return known;
  if (std::ranges::any_of(lengths, [](int length) { return length <= 0; })) return nullptr;
  auto parts = std::make_shared<const Parts>(parts_of(lengths, places));
  if (parts->empty()) return nullptr;
  last_lists.keep(parts);
  return parts;
}

}  // namespace

MPI_Datatype LongType::make(std::span<const int> lengths, const MPI_Aint* places) noexcept try {
  if (lengths.size() < long_list) return MPI_DATATYPE_NULL;
  Parts parts = known_or_found(lengths, places);
  if (!parts) return MPI_DATATYPE_NULL;
  std::unique_ptr<LongType> known{new LongType{std::move(parts), places[0]}};
  MPI_Datatype type = known->put_together();
  PMPI_Type_set_attr(type, list_key(), known.release());
  any_made.store(true);
  return type;
} catch (const std::bad_alloc&) {
  return MPI_DATATYPE_NULL;
}

const LongType* LongType::find(MPI_Datatype type) {
  if (!any_made.load(std::memory_order_relaxed) || type == MPI_DATATYPE_NULL) return nullptr;
  void* known = nullptr;
  int found = 0;
  PMPI_Type_get_attr(type, list_key(), &known, &found);
  return found ? static_cast<const LongType*>(known) : nullptr;
}

MPI_Datatype LongType::put_together() const {
  const std::vector<int> ones(parts_->size(), 1);
  const std::vector<MPI_Aint> origins(parts_->size(), first_);
  std::vector<MPI_Datatype> types;
  types.reserve(parts_->size());
  const Library inside;  // a part may be long too
  for (const Part& part : *parts_) {
    MPI_Datatype once = MPI_DATATYPE_NULL, all = MPI_DATATYPE_NULL;
    PMPI_Type_create_hindexed(static_cast<int>(part.lengths.size()), part.lengths.data(), part.places.data(), MPI_BYTE,
                              &once);
    PMPI_Type_create_hvector(static_cast<int>(part.times), 1, part.distance, once, &all);
    PMPI_Type_free(&once);
    types.push_back(all);
  }
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  PMPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), origins.data(), types.data(), &whole);
  for (MPI_Datatype& type : types) PMPI_Type_free(&type);
  return whole;
}

std::size_t LongType::count() const noexcept {
  std::size_t sum = 0;
  for (const Part& part : *parts_) sum += part.lengths.size() * part.times;
  return sum;
}

void LongType::list(int* lengths, MPI_Aint* places) const noexcept {
  for (const Part& part : *parts_)
    for (std::size_t i = 0; i < part.times; ++i) {
      lengths = std::ranges::copy(part.lengths, lengths).out;
      const MPI_Aint moved = first_ + static_cast<MPI_Aint>(i) * part.distance;
      places = std::ranges::transform(part.places, places, [&](MPI_Aint place) { return place + moved; }).out;
    }
}

FlatType LongType::flat() const {
  FlatType flat;
  for (const Part& part : *parts_) {
    FlatType once;
    const MPI_Aint base = part.places.front();
    for (std::size_t i = 0; i < part.lengths.size(); ++i)
      once.append(part.places[i] - base, static_cast<std::uint64_t>(part.lengths[i]), 0, 1);
    flat.repeat(once, part.times, part.distance, first_ + base);
  }
  return flat;
}

}  // namespace weir::interpose
