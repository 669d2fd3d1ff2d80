#include "plan/plan.hpp"

namespace weir {

std::uint64_t RemotePart::list_bytes() const {
  std::uint64_t total = dump.list_bytes() + places.capacity() * sizeof(std::uint64_t);
  for (const Source& source : sources)
    total += source.inbox.pieces.list_bytes() + source.inbox.route.list_bytes() +
             source.places.capacity() * sizeof(std::uint64_t);
  return total;
}

RemotePart make_remote_part(const Layout& layout, const RankDeclaration& declaration) {
  const Neighbour self{0, &declaration, nullptr};
  RemotePart part{make_node_part(node_union({&self, 1}), layout, declaration), {}, {}};
  std::uint64_t place = 0;
  for (const Edge& edge : part.dump.route.edges) {
    part.places.push_back(place);
    place += edge.bytes;
  }
  part.places.push_back(place);
  return part;
}

Source make_source(const Layout& layout, std::uint32_t domain, int rank, const RankDeclaration& declaration) {
  const std::uint32_t first = layout.domains[domain].first_window;
  std::uint64_t place = 0;
  for (std::size_t v = 0; v < declaration.variables.size(); ++v)
    place += declaration.pieces(v).bytes_before(window_range(layout, first, declaration.variables[v].at).low);
  return make_source(layout, domain, rank, declaration, place);
}

Source make_source(const Layout& layout, std::uint32_t domain, int rank, const RankDeclaration& pieces,
                   std::uint64_t place) {
  Source source{rank, make_inbox(layout, domain, rank, pieces), {}};
  for (const Edge& edge : source.inbox.route.edges) {
    source.places.push_back(place);
    place += edge.bytes;
  }
  return source;
}

}  // namespace weir
