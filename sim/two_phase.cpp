#include "two_phase.hpp"

#include <algorithm>

#include "model/cost_model.hpp"

namespace weir::sim {
namespace {

/// What one aggregator gets in one round.
struct Buffer {
  std::map<int, std::uint64_t> from_node;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
};

/// One call, divided.
class Call {
 public:
  Call(const std::vector<bench::Part>& parts, std::size_t variable, int ranks_per_node, const TwoPhase& scheme)
      : scheme_{scheme} {
    std::vector<std::vector<bench::Piece>> all;
    for (const bench::Part& part : parts) {
      all.push_back(
          bench::pieces(part.decompositions[static_cast<std::size_t>(part.variables[variable].decomposition)]));
      for (bench::Piece& piece : all.back()) {
        piece.offset += part.variables[variable].at;
        if (piece.length == 0) continue;
        low_ = std::min(low_, piece.offset);
        high_ = std::max(high_, piece.offset + piece.length);
      }
    }
    const std::uint64_t share = (high_ - low_ + scheme.aggregator_nodes.size() - 1) / scheme.aggregator_nodes.size();
    domain_ = (share + scheme.alignment - 1) / scheme.alignment * scheme.alignment;
    rounds_.resize((domain_ + scheme.buffer_bytes - 1) / scheme.buffer_bytes);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      for (const bench::Piece& piece : all[rank]) add(static_cast<int>(rank) / ranks_per_node, piece);
  }

  /// By round, then by aggregator.
  [[nodiscard]] const std::vector<std::map<std::size_t, Buffer>>& rounds() const noexcept { return rounds_; }

  /// The range that a buffer spans.
  [[nodiscard]] std::uint64_t span(std::size_t round, std::size_t aggregator) const {
    const std::uint64_t begin = low_ + aggregator * domain_ + round * scheme_.buffer_bytes;
    return std::min({begin + scheme_.buffer_bytes, low_ + (aggregator + 1) * domain_, high_}) - begin;
  }

 private:
  void add(int node, bench::Piece piece) {
    while (piece.length > 0) {
      const std::uint64_t at = piece.offset - low_;
      const std::size_t aggregator = at / domain_, round = at % domain_ / scheme_.buffer_bytes;
      const std::uint64_t end =
          std::min(aggregator * domain_ + (round + 1) * scheme_.buffer_bytes, (aggregator + 1) * domain_);
      const std::uint64_t now = std::min(piece.length, end - at);
      Buffer& buffer = rounds_[round][aggregator];
      buffer.from_node[node] += now;
      buffer.bytes += now;
      ++buffer.pieces;
      piece.offset += now;
      piece.length -= now;
    }
  }

  const TwoPhase& scheme_;
  std::uint64_t low_ = ~std::uint64_t{0}, high_ = 0, domain_ = 1;
  std::vector<std::map<std::size_t, Buffer>> rounds_;
};

}  // namespace

std::vector<int> TwoPhase::first_ranks(int aggregators, int nodes, bool spread) {
  std::vector<int> chosen;
  for (int k = 0; k < std::min(aggregators, nodes); ++k)
    chosen.push_back(spread ? static_cast<int>(static_cast<long>(k) * nodes / aggregators) : k);
  return chosen;
}

void schedule_two_phase(Schedule& schedule, const Job& job, const TwoPhase& scheme) {
  const bench::Workload workload = bench::make_workload(job.workload, job.parameters, job.ranks()).value();
  std::vector<bench::Part> parts;
  for (int rank = 0; rank < job.ranks(); ++rank) parts.push_back(workload.part(rank));
  const Bank* memory = source_bank(*job.machine);
  const int bank = memory ? static_cast<int>(memory - job.machine->banks.data()) : 0;
  const double exchange_s = scheme.peer_s * job.ranks();
  std::vector<int> before;
  for (std::size_t v = 0; v < parts.front().variables.size(); ++v) {
    const Call call{parts, v, job.ranks_per_node, scheme};
    before = {schedule.wait(exchange_s, before)};
    for (std::size_t round = 0; round < call.rounds().size(); ++round) {
      const int begun = schedule.wait(exchange_s, before);
      before = {begun};
      for (const auto& [aggregator, buffer] : call.rounds()[round]) {
        const Place place{scheme.aggregator_nodes[aggregator], bank};
        const std::uint64_t span = call.span(round, aggregator);
        const bool holes = buffer.bytes < span;
        std::vector<int> filled;
        for (const auto& [node, bytes] : buffer.from_node)
          filled.push_back(schedule.transfer(schedule.gather_way(node, place), bytes, {begun}));
        if (holes && scheme.reads_holes) filled.push_back(schedule.transfer(schedule.load_way(place), span, {begun}));
        const bool whole = !holes || scheme.reads_holes;
        before.push_back(schedule.transfer(schedule.store_way(place), whole ? span : buffer.bytes, std::move(filled),
                                           whole ? 0 : scheme.piece_s * static_cast<double>(buffer.pieces)));
      }
    }
  }
}

}  // namespace weir::sim
