#include "flat_type.hpp"

#include <xxhash.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "long_type.hpp"
#include "repetition.hpp"
#include "type_contents.hpp"

namespace weir::interpose {

void FlatType::append(std::int64_t at, std::uint64_t length, std::int64_t stride, std::uint64_t count) {
  if (length == 0 || count == 0) return;
  if (count > 1 && stride == static_cast<std::int64_t>(length)) {
    length *= count;
    count = 1;
  }
  const std::uint64_t before = size();
  if (groups_.empty() || groups_.back().count > 1) groups_.push_back({blocks_.size(), blocks_.size(), 0, 1, before, 0});
  Group& group = groups_.back();
  group.once += length * count;
  if (group.end > group.first) {
    Block& last = blocks_.back();
    const auto step = static_cast<std::int64_t>(last.count) * last.stride;
    if (last.count == 1 && count == 1 && at == last.at + static_cast<std::int64_t>(last.length)) {
      last.length += length;
      return;
    }
    if (last.count > 1 && length == last.length && at == last.at + step && (count == 1 || stride == last.stride)) {
      last.count += count;
      return;
    }
  }
  blocks_.push_back({at, length, stride, count, before});
  ++group.end;
}

bool FlatType::goes_on(const FlatType& type, const Group& group, std::int64_t distance,
                       std::int64_t at) const noexcept {
  if (groups_.empty() || groups_.back().count == 1 || groups_.back().distance != distance) return false;
  const Group& last = groups_.back();
  const std::int64_t moved = static_cast<std::int64_t>(last.count) * distance - at;
  return std::ranges::equal(blocks(last), type.blocks(group), [&](const Block& own, const Block& other) {
    return own.at + moved == other.at && own.length == other.length && own.count == other.count &&
           (own.count == 1 || own.stride == other.stride);
  });
}

void FlatType::add_group(const FlatType& type, const Group& group, std::uint64_t count, std::int64_t distance,
                         std::int64_t at) {
  if (goes_on(type, group, distance, at)) {
    groups_.back().count += count;
    return;
  }
  Group added{blocks_.size(), 0, distance, count, size(), group.once};
  for (Block block : type.blocks(group)) {
    block.at += at;
    block.before = block.before - group.before + added.before;
    blocks_.push_back(block);
  }
  added.end = blocks_.size();
  groups_.push_back(added);
}

void FlatType::add(const FlatType& type, std::int64_t at) {
  for (const Group& group : type.groups_)
    if (group.count > 1) {
      add_group(type, group, group.count, group.distance, at);
    } else {
      for (const Block& block : type.blocks(group)) append(at + block.at, block.length, block.stride, block.count);
    }
}

void FlatType::repeat(const FlatType& type, std::uint64_t count, std::int64_t stride, std::int64_t at) {
  if (count == 0 || type.blocks_.empty()) return;
  if (const Block* only = type.single()) {
    if (only->count == 1) return append(at + only->at, only->length, stride, count);
    if (stride == static_cast<std::int64_t>(only->count) * only->stride)
      return append(at + only->at, only->length, only->stride, only->count * count);
  }
  if (count > 1 && type.groups_.size() == 1 && type.groups_[0].count == 1)
    return add_group(type, type.groups_[0], count, stride, at);
  for (std::uint64_t i = 0; i < count; ++i, at += stride) add(type, at);
}

bool FlatType::ascends() const noexcept {
  std::int64_t end = begin();
  for (const Group& group : groups_) {
    for (const Block& block : blocks(group)) {
      const auto length = static_cast<std::int64_t>(block.length);
      if (block.at < end || (block.count > 1 && block.stride < length)) return false;
      end = block.at + static_cast<std::int64_t>(block.count - 1) * block.stride + length;
    }
    if (group.count > 1 && blocks_[group.first].at + group.distance < end) return false;
    end += static_cast<std::int64_t>(group.count - 1) * group.distance;
  }
  return true;
}

std::uint64_t FlatType::hash() const noexcept {
  static_assert(std::has_unique_object_representations_v<Block> && std::has_unique_object_representations_v<Group>);
  const std::uint64_t seed =
      XXH3_64bits_withSeed(groups_.data(), groups_.size() * sizeof(Group), static_cast<std::uint64_t>(extent_));
  return XXH3_64bits_withSeed(blocks_.data(), blocks_.size() * sizeof(Block), seed);
}

namespace {

/// A predefined type. Only the pairs of a value and an index have a hole: the index is an int at the next multiple of
/// its size, and what follows it is padding.
FlatType named(MPI_Datatype type) {
  FlatType flat;
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &low, &extent);
  const auto bytes = static_cast<std::uint64_t>(size);
  if (size == extent || bytes <= sizeof(int)) {
    flat.append(0, bytes, 0, 1);
  } else {
    const std::uint64_t value = bytes - sizeof(int);
    flat.append(0, value, 0, 1);
    flat.append(static_cast<std::int64_t>((value + sizeof(int) - 1) / sizeof(int) * sizeof(int)), sizeof(int), 0, 1);
  }
  return flat;
}

/// An array of blocks of one type, at places that are given in bytes.
template <class Length, class Place>
FlatType indexed(const FlatType& inner, std::size_t count, Length length, Place place) {
  FlatType flat;
  const auto add = [&](FlatType& to, std::size_t i, std::int64_t base) {
    to.repeat(inner, static_cast<std::uint64_t>(length(i)), inner.extent(), place(i) - base);
  };
  const auto same = [&](std::size_t i, std::size_t j) { return length(i) == length(j); };
  const auto same_step = [&](std::size_t i, std::size_t j) {
    return same(i, j) && place(i + 1) - place(i) == place(j + 1) - place(j);
  };
  std::size_t next = 0;
  for (const Repetition& repetition : repetitions(count, same_step, same)) {
    for (; next < repetition.first; ++next) add(flat, next, 0);
    FlatType once;
    const std::int64_t base = place(repetition.first);
    for (std::size_t i = 0; i < repetition.period; ++i) add(once, repetition.first + i, base);
    flat.repeat(once, repetition.count, place(repetition.first + repetition.period) - base, base);
    next = repetition.end();
  }
  flat.reserve((count - next) * std::max<std::size_t>(inner.groups().size(), 1));
  for (; next < count; ++next) add(flat, next, 0);
  return flat;
}

struct Axis {
  std::int64_t size;      // of the whole array
  std::int64_t first;     // of the part
  std::int64_t block;     // elements that follow one another
  std::int64_t distance;  // from one block to the next
  std::int64_t elements;  // of the part
};

/// A part of an array, the axis with neighbouring elements first.
FlatType part(const FlatType& element, const std::vector<Axis>& axes) {
  FlatType flat = element;
  std::int64_t pitch = element.extent();
  for (const Axis& axis : axes) {
    const std::int64_t whole = axis.block > 0 ? axis.elements / axis.block : 0;
    const std::int64_t rest = axis.elements - whole * axis.block;
    FlatType block, blocks;
    block.repeat(flat, static_cast<std::uint64_t>(axis.block), pitch, 0);
    blocks.repeat(block, static_cast<std::uint64_t>(whole), axis.distance * pitch, axis.first * pitch);
    blocks.repeat(flat, static_cast<std::uint64_t>(rest), pitch, (axis.first + whole * axis.distance) * pitch);
    flat = std::move(blocks);
    pitch *= axis.size;
  }
  return flat;
}

template <class Integer>
FlatType subarray(const FlatType& inner, const std::vector<Integer>& n) {
  const auto dimensions = static_cast<std::size_t>(n[0]);
  const bool c_order = n[1 + 3 * dimensions] == MPI_ORDER_C;
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = c_order ? dimensions - 1 - i : i;
    const std::int64_t taken = n[1 + dimensions + d];
    axes.push_back({n[1 + d], n[1 + 2 * dimensions + d], taken, taken, taken});
  }
  return part(inner, axes);
}

Axis distributed(std::int64_t size, std::int64_t kind, std::int64_t argument, std::int64_t processes,
                 std::int64_t process) {
  if (kind == MPI_DISTRIBUTE_NONE) return {size, 0, size, size, size};
  const bool chosen = argument != MPI_DISTRIBUTE_DFLT_DARG;
  const std::int64_t even = (size + processes - 1) / processes;
  const std::int64_t block = chosen ? argument : kind == MPI_DISTRIBUTE_BLOCK ? even : 1;
  Axis axis{size, process * block, block, block * processes, 0};
  for (std::int64_t at = axis.first; at < size; at += axis.distance) axis.elements += std::min(block, size - at);
  return axis;
}

template <class Integer>
FlatType darray(const FlatType& inner, const std::vector<Integer>& n) {
  const auto dimensions = static_cast<int>(n[2]);
  const auto argument = [&](int which, int d) { return n[static_cast<std::size_t>(3 + which * dimensions + d)]; };
  const bool c_order = n[static_cast<std::size_t>(3 + 4 * dimensions)] == MPI_ORDER_C;
  std::vector<Axis> axes(static_cast<std::size_t>(dimensions));
  std::int64_t rank = n[1];
  for (int d = dimensions - 1; d >= 0; --d) {  // the grid of processes is row-major whatever the order of the array
    const std::int64_t processes = argument(3, d);
    const std::size_t place = static_cast<std::size_t>(c_order ? dimensions - 1 - d : d);
    axes[place] = distributed(argument(0, d), argument(1, d), argument(2, d), processes, rank % processes);
    rank /= processes;
  }
  return part(inner, axes);
}

template <class Integer>
FlatType put_together(const TypeContents& contents, const std::vector<Integer>& n) {
  const auto& a = contents.addresses;
  std::vector<FlatType> inner;
  for (const MPI_Datatype part : contents.types) inner.push_back(FlatType::of(part));
  const FlatType& first = inner.front();
  const auto index = [&](std::size_t i) { return std::int64_t{n[i]} * first.extent(); };
  const auto count = n.empty() ? std::size_t{0} : static_cast<std::size_t>(n[0]);
  FlatType flat;
  switch (contents.combiner) {
    case MPI_COMBINER_CONTIGUOUS: flat.repeat(first, count, first.extent(), 0); break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      FlatType block;
      block.repeat(first, static_cast<std::uint64_t>(n[1]), first.extent(), 0);
      flat.repeat(block, count, contents.combiner == MPI_COMBINER_VECTOR ? index(2) : a[0], 0);
      break;
    }
    case MPI_COMBINER_INDEXED:
      return indexed(
          first, count, [&](auto i) { return n[1 + i]; }, [&](auto i) { return index(1 + count + i); });
    case MPI_COMBINER_HINDEXED:
      return indexed(
          first, count, [&](auto i) { return n[1 + i]; }, [&](auto i) { return a[i]; });
    case MPI_COMBINER_INDEXED_BLOCK:
      return indexed(
          first, count, [&](auto) { return n[1]; }, [&](auto i) { return index(2 + i); });
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed(
          first, count, [&](auto) { return n[1]; }, [&](auto i) { return a[i]; });
    case MPI_COMBINER_STRUCT:
      for (std::size_t i = 0; i < count; ++i)
        flat.repeat(inner[i], static_cast<std::uint64_t>(n[1 + i]), inner[i].extent(), a[i]);
      break;
    case MPI_COMBINER_SUBARRAY: return subarray(first, n);
    case MPI_COMBINER_DARRAY: return darray(first, n);
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return first;
    default: throw std::invalid_argument{"a datatype was made in a way that is not known here"};
  }
  return flat;
}

FlatType take_apart(MPI_Datatype type) {
  if (const LongType* known = LongType::find(type)) return known->flat();
  const TypeContents contents{type};
  if (contents.is_leaf()) return named(type);
  return contents.large_integers.empty() ? put_together(contents, contents.integers)
                                         : put_together(contents, contents.large_integers);
}

}  // namespace

FlatType FlatType::byte() {
  FlatType flat;
  flat.append(0, 1, 0, 1);
  flat.extent_ = 1;
  return flat;
}

FlatType FlatType::of(MPI_Datatype type) {
  FlatType flat = take_apart(type);
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  flat.extent_ = extent;
  return flat;
}

}  // namespace weir::interpose
