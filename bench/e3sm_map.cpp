#include "e3sm_map.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

#if WEIR_HAVE_NETCDF
#include <dlfcn.h>
#include <netcdf.h>

#include <functional>
#include <numeric>
#endif

namespace weir::bench {

#if WEIR_HAVE_NETCDF
namespace {

#define WEIR_NETCDF_FUNCTIONS(apply)                                                                              \
  apply(nc_open) apply(nc_close) apply(nc_inq_dimid) apply(nc_inq_dimlen) apply(nc_inq_varid) apply(nc_inq_attlen) \
      apply(nc_get_var_longlong) apply(nc_get_att_longlong) apply(nc_strerror)

/// The netCDF library, loaded when a map is read: the forty libraries that it brings would delay every start of `weir`.
struct NetCdf {
  explicit NetCdf(const std::string& path) {
    void* const library = ::dlopen(WEIR_NETCDF, RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](const char* name) {
      void* const found = library ? ::dlsym(library, name) : nullptr;
      if (!found)
        problem(Code::unsupported, fmt::format("cannot read the map '{}': {}", path, ::dlerror()), "install libnetcdf").value();
      return found;
    };
#define WEIR_NETCDF_FIND(name) name = reinterpret_cast<decltype(name)>(find(#name));
    WEIR_NETCDF_FUNCTIONS(WEIR_NETCDF_FIND)
#undef WEIR_NETCDF_FIND
  }
#define WEIR_NETCDF_MEMBER(name) decltype(&::name) name;
  WEIR_NETCDF_FUNCTIONS(WEIR_NETCDF_MEMBER)
#undef WEIR_NETCDF_MEMBER
};

/// A netCDF file that is closed in the end; its verbs throw `Error`.
class MapFile {
 public:
  explicit MapFile(const std::string& path) : netcdf_{path}, path_{path} {
    check(netcdf_.nc_open(path.c_str(), NC_NOWRITE, &id_), "open");
  }
  MapFile(const MapFile&) = delete;
  MapFile& operator=(const MapFile&) = delete;
  ~MapFile() { netcdf_.nc_close(id_); }

  std::size_t dimension(const std::string& name) {
    int dimension = 0;
    std::size_t length = 0;
    check(netcdf_.nc_inq_dimid(id_, name.c_str(), &dimension), name);
    check(netcdf_.nc_inq_dimlen(id_, dimension, &length), name);
    return length;
  }
  std::vector<long long> variable(const std::string& name, std::size_t length) {
    int variable = 0;
    std::vector<long long> values(length);
    check(netcdf_.nc_inq_varid(id_, name.c_str(), &variable), name);
    check(netcdf_.nc_get_var_longlong(id_, variable, values.data()), name);
    return values;
  }
  std::vector<long long> attribute(const std::string& name) {
    std::size_t length = 0;
    check(netcdf_.nc_inq_attlen(id_, NC_GLOBAL, name.c_str(), &length), name);
    std::vector<long long> values(length);
    check(netcdf_.nc_get_att_longlong(id_, NC_GLOBAL, name.c_str(), values.data()), name);
    return values;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    problem(Code::corrupt, fmt::format("cannot use the map '{}': {}", path_, what)).value();
    std::abort();
  }

 private:
  void check(int code, const std::string& what) const {
    if (code != NC_NOERR)
      problem(Code::io, fmt::format("cannot read the map '{}': {}: {}", path_, what, netcdf_.nc_strerror(code))).value();
  }
  NetCdf netcdf_;
  std::string path_;
  int id_ = 0;
};

E3smMap read_map(MapFile& file, const std::string& name) {
  const auto dims = file.attribute(name + ".dims");
  const std::size_t total = file.dimension(name + ".total_nreqs");
  const auto counts = file.variable(name + ".nreqs", file.dimension("decomp_nprocs"));
  const auto offsets = file.variable(name + ".offsets", total);
  const auto lengths = file.variable(name + ".lengths", total);
  if (static_cast<std::size_t>(std::reduce(counts.begin(), counts.end())) != total)
    file.refuse(name + ".nreqs does not add up to the number of requests");

  E3smMap map;
  map.elements = static_cast<std::uint64_t>(std::reduce(dims.begin(), dims.end(), 1LL, std::multiplies{}));
  std::vector<bool> covered(map.elements);
  std::uint64_t elements = 0;
  std::size_t next = 0;
  for (const long long count : counts) {
    auto& list = map.lists.emplace_back();
    for (long long i = 0; i < count; ++i, ++next) {
      const Piece request{static_cast<std::uint64_t>(offsets[next]), static_cast<std::uint64_t>(lengths[next])};
      if (request.offset > map.elements || request.length > map.elements - request.offset)
        file.refuse(fmt::format("request {} of {} lies beyond its {} elements", next, name, map.elements));
      for (std::uint64_t e = request.offset; e < request.offset + request.length; ++e, ++elements) {
        if (covered[e]) file.refuse(fmt::format("element {} of {} is requested twice", e, name));
        covered[e] = true;
      }
      list.push_back(request);
    }
  }
  if (elements != map.elements)
    file.refuse(
        fmt::format("{} of {} elements of {} are requested by no rank", map.elements - elements, map.elements, name));
  return map;
}

}  // namespace

Result<std::vector<E3smMap>> read_e3sm_maps(const std::string& path) {
  try {
    MapFile file{path};
    std::vector<E3smMap> maps;
    const std::size_t count = file.dimension("num_decomp");
    for (std::size_t d = 1; d <= count; ++d) maps.push_back(read_map(file, fmt::format("D{}", d)));
    return maps;
  } catch (const Error& error) {
    return error.status();
  }
}

#else

Result<std::vector<E3smMap>> read_e3sm_maps(const std::string& path) {
  return problem(Code::unsupported, fmt::format("cannot read the map '{}': built without the netCDF library", path),
                 "install libnetcdf and build again");
}

#endif

}  // namespace weir::bench
