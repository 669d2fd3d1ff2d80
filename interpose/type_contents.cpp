#include "type_contents.hpp"

#include <cstddef>

namespace weir::interpose {

Envelope::Envelope(MPI_Datatype type) {
#if MPI_VERSION >= 4
  PMPI_Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner);
#else
  int small_integers = 0, small_addresses = 0, small_types = 0;
  PMPI_Type_get_envelope(type, &small_integers, &small_addresses, &small_types, &combiner);
  integers = small_integers;
  addresses = small_addresses;
  types = small_types;
#endif
}

/// MPI keeps all that is large in one list: the order becomes that of the same type with small counts.
void TypeContents::arrange(const std::vector<MPI_Count>& counts) {
  const auto add = [&](const auto& from, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) large_integers.push_back(from[i]);
  };
  const auto split = [&](std::size_t end) {
    add(counts, 0, end);
    for (std::size_t i = end; i < counts.size(); ++i) addresses.push_back(static_cast<MPI_Aint>(counts[i]));
  };
  switch (combiner) {
    case MPI_COMBINER_RESIZED: return split(0);
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK: return split(2);
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT: return split(1 + static_cast<std::size_t>(counts[0]));
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY: {
      const std::size_t ahead = combiner == MPI_COMBINER_SUBARRAY ? 1 : 3;
      add(integers, 0, ahead);
      add(counts, 0, counts.size());
      return add(integers, ahead, integers.size());
    }
    default: return add(counts, 0, counts.size());
  }
}

TypeContents::TypeContents(MPI_Datatype type) {
  const Envelope envelope{type};
  combiner = envelope.combiner;
  if (envelope.named() || envelope.types == 0) return;
  integers.resize(static_cast<std::size_t>(envelope.integers));
  addresses.resize(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Datatype> parts(static_cast<std::size_t>(envelope.types));
#if MPI_VERSION >= 4
  std::vector<MPI_Count> counts(static_cast<std::size_t>(envelope.large_counts));
  PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large_counts, envelope.types,
                           integers.data(), addresses.data(), counts.data(), parts.data());
  types.swap(parts);
  if (!counts.empty()) arrange(counts);
#else
  PMPI_Type_get_contents(type, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
                         static_cast<int>(envelope.types), integers.data(), addresses.data(), parts.data());
  types.swap(parts);
#endif
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& type : types)
    if (const Envelope envelope{type}; !envelope.named() && envelope.types > 0) PMPI_Type_free(&type);
}

}  // namespace weir::interpose
