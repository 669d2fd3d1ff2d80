#include "random_type.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::testing {

namespace {

int small(Random& random, int least, int most) {
  return static_cast<int>(between(random, static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)));
}

}  // namespace

RandomType::RandomType(MPI_Datatype named) : type_{named} {
  int size = 0;
  MPI_Type_size(named, &size);
  map_.resize(static_cast<std::size_t>(size));
  std::iota(map_.begin(), map_.end(), 0);
  extent_ = size;
}

RandomType::RandomType(RandomType&& other) noexcept { *this = std::move(other); }
RandomType& RandomType::operator=(RandomType&& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(own_, other.own_);
  std::swap(map_, other.map_);
  std::swap(low_, other.low_);
  std::swap(extent_, other.extent_);
  return *this;
}
RandomType::~RandomType() {
  if (own_) MPI_Type_free(&type_);
}

void RandomType::add(const RandomType& part, std::int64_t count, std::int64_t at) {
  for (std::int64_t i = 0; i < count; ++i)
    for (const std::int64_t place : part.map_) map_.push_back(at + i * part.extent_ + place);
}

void RandomType::commit() {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_commit(&type_);
  MPI_Type_get_extent(type_, &low, &extent);
  low_ = low;
  extent_ = extent;
  own_ = true;
}

RandomType RandomType::placed(int count, std::int64_t at, std::int64_t extent) const {
  RandomType result;
  MPI_Datatype moved = MPI_DATATYPE_NULL;
  const MPI_Aint place = at;
  MPI_Type_create_hindexed(1, &count, &place, type_, &moved);
  MPI_Type_create_resized(moved, 0, extent, &result.type_);
  MPI_Type_free(&moved);
  result.add(*this, count, at);
  result.commit();
  return result;
}

RandomType RandomType::array(Random& random, const RandomType& inner) {
  RandomType result;
  const int dimensions = small(random, 1, 3);
  const bool c_order = small(random, 0, 1) == 0;
  int sizes[3], parts[3], starts[3];
  for (int d = 0; d < dimensions; ++d) {
    sizes[d] = small(random, 1, 4);
    parts[d] = small(random, 1, sizes[d]);
    starts[d] = small(random, 0, sizes[d] - parts[d]);
  }
  MPI_Type_create_subarray(dimensions, sizes, parts, starts, c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner.type_,
                           &result.type_);
  std::int64_t total = 1;
  for (int d = 0; d < dimensions; ++d) total *= sizes[d];
  for (std::int64_t index = 0; index < total; ++index) {
    std::int64_t rest = index;
    bool within = true;
    for (int i = 0; i < dimensions; ++i) {
      const int d = c_order ? dimensions - 1 - i : i;
      const std::int64_t at = rest % sizes[d];
      rest /= sizes[d];
      within = within && at >= starts[d] && at < starts[d] + parts[d];
    }
    if (within) result.add(inner, 1, index * inner.extent_);
  }
  return result;
}

RandomType RandomType::distributed_array(Random& random, const RandomType& inner) {
  RandomType result;
  const bool c_order = small(random, 0, 1) == 0;
  const int processes[2] = {small(random, 1, 2), small(random, 1, 3)};
  const int rank = small(random, 0, processes[0] * processes[1] - 1);
  const int mine[2] = {rank / processes[1], rank % processes[1]};
  int sizes[2], kinds[2], arguments[2], grid[2];
  for (int d = 0; d < 2; ++d) {
    sizes[d] = small(random, processes[d] * 2, processes[d] * 2 + 3);
    grid[d] = processes[d];
    kinds[d] = small(random, 0, 1) == 0 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    arguments[d] = kinds[d] == MPI_DISTRIBUTE_CYCLIC && small(random, 0, 1) == 0 ? 2 : MPI_DISTRIBUTE_DFLT_DARG;
    if (processes[d] == 1 && small(random, 0, 1) == 0) kinds[d] = MPI_DISTRIBUTE_NONE;
    if (kinds[d] == MPI_DISTRIBUTE_NONE) arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
  }
  MPI_Type_create_darray(processes[0] * processes[1], rank, 2, sizes, kinds, arguments, grid,
                         c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner.type_, &result.type_);
  const auto owner = [&](int d, int index) {
    if (kinds[d] == MPI_DISTRIBUTE_NONE) return 0;
    int block = kinds[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + processes[d] - 1) / processes[d] : 1;
    if (arguments[d] != MPI_DISTRIBUTE_DFLT_DARG) block = arguments[d];
    return index / block % processes[d];
  };
  const int slow = c_order ? 0 : 1, fast = c_order ? 1 : 0;
  for (int i = 0; i < sizes[slow]; ++i)
    for (int j = 0; j < sizes[fast]; ++j)
      if (owner(slow, i) == mine[slow] && owner(fast, j) == mine[fast])
        result.add(inner, 1, (static_cast<std::int64_t>(i) * sizes[fast] + j) * inner.extent_);
  return result;
}

RandomType RandomType::once(Random& random, const RandomType& inner, std::int64_t unit, Order order) {
  RandomType result;
  const int count = small(random, 1, 4), block = small(random, 1, 3);
  const std::int64_t step = inner.extent_;
  // Blocks of at most 3 elements, at ascending places in elements and in bytes, that do not overlap.
  std::vector<int> lengths, places;
  std::vector<MPI_Aint> addresses;
  std::int64_t at = small(random, 0, 2);
  for (int i = 0; i < count; ++i, at += 3 + small(random, 0, 2)) {
    lengths.push_back(small(random, i == 0 || order == Order::tame ? 1 : 0, 3));
    places.push_back(static_cast<int>(at));
    const std::int64_t low = order == Order::any && i == 0 ? -2 * unit : 0;
    addresses.push_back(at * (step + unit) + low);
  }
  if (order == Order::any && small(random, 0, 1) == 0) {
    std::ranges::reverse(places);
    std::ranges::reverse(addresses);
  }
  const auto n = static_cast<std::size_t>(count);
  const auto add_all = [&](auto length, auto place) {
    for (std::size_t i = 0; i < n; ++i) result.add(inner, length(i), place(i));
  };
  constexpr int tame_kinds[] = {0, 1, 2, 4, 6, 8};
  const int kind = order == Order::tame ? tame_kinds[small(random, 0, 5)] : small(random, 0, 11);
  switch (kind) {
    case 0:
      MPI_Type_contiguous(count, inner.type_, &result.type_);
      result.add(inner, count, 0);
      break;
    case 1: {
      const int stride = (order == Order::any && small(random, 0, 1) == 0 ? -1 : 1) * small(random, block, block + 2);
      MPI_Type_vector(count, block, stride, inner.type_, &result.type_);
      add_all([&](auto) { return block; }, [&](auto i) { return static_cast<std::int64_t>(i) * stride * step; });
      break;
    }
    case 2: {
      const MPI_Aint stride = block * step + unit * small(random, 0, 2);
      MPI_Type_create_hvector(count, block, stride, inner.type_, &result.type_);
      add_all([&](auto) { return block; }, [&](auto i) { return static_cast<std::int64_t>(i) * stride; });
      break;
    }
    case 3:
      MPI_Type_indexed(count, lengths.data(), places.data(), inner.type_, &result.type_);
      add_all([&](auto i) { return lengths[i]; }, [&](auto i) { return places[i] * step; });
      break;
    case 4:
      MPI_Type_create_hindexed(count, lengths.data(), addresses.data(), inner.type_, &result.type_);
      add_all([&](auto i) { return lengths[i]; }, [&](auto i) { return addresses[i]; });
      break;
    case 5:
      MPI_Type_create_indexed_block(count, block, places.data(), inner.type_, &result.type_);
      add_all([&](auto) { return block; }, [&](auto i) { return places[i] * step; });
      break;
    case 6:
      MPI_Type_create_hindexed_block(count, block, addresses.data(), inner.type_, &result.type_);
      add_all([&](auto) { return block; }, [&](auto i) { return addresses[i]; });
      break;
    case 7: {
      std::vector<MPI_Datatype> types(n, inner.type_);
      MPI_Type_create_struct(count, lengths.data(), addresses.data(), types.data(), &result.type_);
      add_all([&](auto i) { return lengths[i]; }, [&](auto i) { return addresses[i]; });
      break;
    }
    case 8: result = array(random, inner); break;
    case 9: result = distributed_array(random, inner); break;
    case 10: {
      const std::int64_t before = unit * small(random, 0, 2), behind = unit * small(random, 0, 2);
      MPI_Type_create_resized(inner.type_, inner.low_ - before, step + before + behind, &result.type_);
      result.add(inner, 1, 0);
      break;
    }
    default:
      MPI_Type_dup(inner.type_, &result.type_);
      result.add(inner, 1, 0);
      break;
  }
  result.commit();
  return result;
}

RandomType RandomType::make(Random& random, const RandomType& base, std::int64_t unit, Order order, int depth) {
  constexpr std::uint64_t large_enough = 500;
  RandomType result = once(random, base, unit, order);
  for (int i = 1; i < depth && result.size() < large_enough; ++i) result = once(random, result, unit, order);
  return result;
}

}  // namespace weir::testing
