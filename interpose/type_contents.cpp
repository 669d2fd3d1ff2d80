#include "type_contents.hpp"

namespace weir::interpose {

TypeContents::TypeContents(MPI_Datatype type) {
  int integer_count = 0, address_count = 0, type_count = 0;
  PMPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner);
  if (combiner == MPI_COMBINER_NAMED || type_count == 0) return;
  integers.resize(static_cast<std::size_t>(integer_count));
  addresses.resize(static_cast<std::size_t>(address_count));
  std::vector<MPI_Datatype> parts(static_cast<std::size_t>(type_count));
  types.reserve(parts.size());
  PMPI_Type_get_contents(type, integer_count, address_count, type_count, integers.data(), addresses.data(),
                         parts.data());
  types.swap(parts);
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& type : types) {
    int integer_count = 0, address_count = 0, type_count = 0, kind = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &kind);
    if (kind != MPI_COMBINER_NAMED && type_count > 0) PMPI_Type_free(&type);
  }
}

}  // namespace weir::interpose
