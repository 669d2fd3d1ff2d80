#include "baselines/mpi_types.hpp"

#include <algorithm>
#include <limits>

#include "core/errors.hpp"

namespace weir::bench {

void check_mpi(int code, const std::string& action) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error{problem(Code::io, "the baseline cannot " + action + ": " + text)};
}

Type::Type(MPI_Datatype type) : type_{type} { check_mpi(MPI_Type_commit(&type_), "commit a datatype"); }

Type Type::hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& displacements) {
  MPI_Datatype type = MPI_BYTE;
  check_mpi(
      MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), MPI_BYTE, &type),
      "make a datatype");
  return Type{type};
}

Type Type::subarray(const Box& box) {
  if (box.array.back() > static_cast<std::uint64_t>(std::numeric_limits<int>::max()) / box.element)
    throw Error{problem(Code::unsupported, "the MPI-IO baselines have rows of at most 2 GiB",
                        "choose a smaller size, or compare with posix")};
  const auto as_int = [](const std::vector<std::uint64_t>& values, std::uint64_t element) {
    std::vector<int> result(values.begin(), values.end());
    result.back() *= static_cast<int>(element);
    return result;
  };
  const auto array = as_int(box.array, box.element);
  const auto size = as_int(box.size, box.element);
  const auto start = as_int(box.start, box.element);
  MPI_Datatype type = MPI_BYTE;
  check_mpi(MPI_Type_create_subarray(static_cast<int>(array.size()), array.data(), size.data(), start.data(),
                                     MPI_ORDER_C, MPI_BYTE, &type),
            "make a datatype");
  return Type{type};
}

Type::~Type() {
  if (derived()) MPI_Type_free(&type_);
}

void TypeLists::Side::append(std::uint64_t at, std::uint64_t length) {
  constexpr auto longest = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  if (!lengths.empty()) {
    const auto last = static_cast<std::uint64_t>(lengths.back());
    if (static_cast<std::uint64_t>(displacements.back()) + last == at && last + length <= longest) {
      lengths.back() += static_cast<int>(length);
      return;
    }
  }
  lengths.push_back(static_cast<int>(length));
  displacements.push_back(static_cast<MPI_Aint>(at));
}

TypeLists::TypeLists(std::vector<Place> places) {
  std::ranges::sort(places, {}, &Place::file);
  for (const Place& place : places) {
    file.append(place.file, place.length);
    memory.append(place.memory, place.length);
    bytes += place.length;
  }
}

}  // namespace weir::bench
