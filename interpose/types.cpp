#include <mpi.h>

#include <algorithm>

#include "long_type.hpp"
#include "open_file.hpp"
#include "real.hpp"

/// The calls that make datatypes of long lists, and that tell how a datatype was made.

using namespace weir::interpose;

namespace {

/// Where nobody has a file open, the type is hardly for a view.
bool may_be_view(int count, const int* lengths, const MPI_Aint* places, MPI_Datatype old) {
  return old == MPI_BYTE && count > 0 && lengths && places && any_open() && inside_library == 0;
}

template <class Count>
int tell_contents(const LongType& type, Count most_integers, Count most_addresses, Count most_types, int* integers,
                  MPI_Aint* addresses, MPI_Datatype* types) {
  const auto count = static_cast<Count>(type.count());
  if (most_integers < count + 1 || most_addresses < count || most_types < 1) {
    PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);
    return MPI_ERR_ARG;
  }
  integers[0] = static_cast<int>(count);
  type.list(integers + 1, addresses);
  types[0] = MPI_BYTE;
  return MPI_SUCCESS;
}

template <class Count>
int tell_envelope(const LongType& type, Count* integers, Count* addresses, Count* types, int* combiner) {
  *addresses = static_cast<Count>(type.count());
  *integers = *addresses + 1;
  *types = 1;
  *combiner = MPI_COMBINER_HINDEXED;
  return MPI_SUCCESS;
}

}  // namespace

#define SHOWN __attribute__((visibility("default")))
#define TYPE_CALL(name, parameters, body) \
  SHOWN int PMPI_##name parameters{body} SHOWN int MPI_##name parameters __attribute__((alias("PMPI_" #name)));

extern "C" {

TYPE_CALL(Type_create_hindexed,
          (int count, const int lengths[], const MPI_Aint places[], MPI_Datatype old, MPI_Datatype* type), {
            if (type && may_be_view(count, lengths, places, old)) {
              *type = LongType::make({lengths, static_cast<std::size_t>(count)}, places);
              if (*type != MPI_DATATYPE_NULL) return MPI_SUCCESS;
            }
            return real().Type_create_hindexed(count, lengths, places, old, type);
          })
TYPE_CALL(Type_get_envelope, (MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner), {
  if (const LongType* known = LongType::find(type)) return tell_envelope(*known, integers, addresses, types, combiner);
  return real().Type_get_envelope(type, integers, addresses, types, combiner);
})
TYPE_CALL(Type_get_contents,
          (MPI_Datatype type, int most_integers, int most_addresses, int most_types, int integers[],
           MPI_Aint addresses[], MPI_Datatype types[]),
          {
            if (const LongType* known = LongType::find(type))
              return tell_contents(*known, most_integers, most_addresses, most_types, integers, addresses, types);
            return real().Type_get_contents(type, most_integers, most_addresses, most_types, integers, addresses,
                                            types);
          })
#if MPI_VERSION >= 4
TYPE_CALL(Type_get_envelope_c,
          (MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* counts, MPI_Count* types,
           int* combiner),
          {
            if (const LongType* known = LongType::find(type))
              return (*counts = 0, tell_envelope(*known, integers, addresses, types, combiner));
            return real().Type_get_envelope_c(type, integers, addresses, counts, types, combiner);
          })
TYPE_CALL(Type_get_contents_c,
          (MPI_Datatype type, MPI_Count most_integers, MPI_Count most_addresses, MPI_Count most_counts,
           MPI_Count most_types, int integers[], MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[]),
          {
            if (const LongType* known = LongType::find(type))
              return tell_contents(*known, most_integers, most_addresses, most_types, integers, addresses, types);
            return real().Type_get_contents_c(type, most_integers, most_addresses, most_counts, most_types, integers,
                                              addresses, counts, types);
          })
#endif

}  // extern "C"
