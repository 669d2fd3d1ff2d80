#include "subfile/set_declaration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {

void SetPlan::write(Writer& out) const {
  for (const std::uint64_t value : {space, rank_at, section_bytes, most_bytes}) out.put(value);
  declared.write(out);
}

SetPlan SetPlan::read(Reader& in) {
  SetPlan plan;
  for (std::uint64_t* value : {&plan.space, &plan.rank_at, &plan.section_bytes, &plan.most_bytes})
    *value = in.get<std::uint64_t>();
  plan.declared = RankDeclaration::read(in);
  return plan;
}

std::uint64_t packed_bytes(const RankDeclaration& declaration) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : declaration.variable_bytes()) total += bytes;
  return total;
}

RankDeclaration packed_from(const RankDeclaration& declaration, std::uint64_t at) {
  RankDeclaration packed;
  for (const std::uint64_t bytes : declaration.variable_bytes()) {
    PieceList whole;
    if (bytes > 0) whole.append(at, bytes, 0);
    at += bytes;
    packed.variables.push_back({static_cast<int>(packed.shapes.size()), 0});
    packed.shapes.push_back(std::move(whole));
    packed.memory.push_back({bytes, {}});
  }
  return packed;
}

SetLookup::SetLookup(SetIndex index, std::vector<int> holder_of)
    : index_{std::move(index)}, files_{FileGroups::for_reading(index_.files(), std::move(holder_of))} {
  for (const SetIndex::Pattern& pattern : index_.patterns) {
    Reach reach;
    for (const SetIndex::Rank& rank : pattern.ranks) {
      reach.shapes.resize(std::max(reach.shapes.size(), rank.shapes.size()));
      for (std::size_t s = 0; s < rank.shapes.size(); ++s) {
        const PieceList& list = rank.shapes[s];
        Extent& all = reach.shapes[s];
        if (list.empty()) continue;
        const std::uint64_t low = all.length == 0 ? list.begin() : std::min(all.offset, list.begin());
        all = {low, std::max(all.end(), list.end()) - low};
      }
      auto& places = reach.variable_at.emplace_back();
      std::uint64_t at = rank.at;
      for (const auto& variable : pattern.variables) {
        places.push_back(at);
        at += rank.shape_bytes[variable.shape];
      }
    }
    reach_.push_back(std::move(reach));
  }
}

void SetLookup::add_hits(const PieceList& wanted, std::uint64_t at, const SetIndex::Section& section,
                         std::size_t variable, std::uint64_t strength, std::vector<Hit>& found) const {
  const SetIndex::Pattern& pattern = index_.patterns[section.pattern];
  const auto& [shape, variable_at] = pattern.variables[variable];
  const std::uint64_t written_at = variable_at + section.shift, wanted_pieces = wanted.pieces();
  for (std::size_t r = 0; r < pattern.ranks.size(); ++r, strength += pattern.variables.size()) {
    const SetIndex::Rank& rank = pattern.ranks[r];
    const PieceList& written = rank.shapes[shape];
    const std::uint64_t low = std::max(written_at + written.begin(), at + wanted.begin());
    const std::uint64_t high = std::min(written_at + written.end(), at + wanted.end());
    if (low >= high) continue;
    const std::uint64_t place =
        files_.base(rank.file) + section.file_at[rank.file] + reach_[section.pattern].variable_at[r][variable];
    const auto find_written = [&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
      const std::uint64_t from = offset + at - written_at;
      written.for_each(from, from + length, [&](std::uint64_t there, std::uint64_t bytes, std::uint64_t inside) {
        found.push_back({there + written_at, bytes, memory + (there - from), place + inside, strength});
      });
    };
    const auto find_wanted = [&](std::uint64_t offset, std::uint64_t length, std::uint64_t inside) {
      const std::uint64_t from = offset + written_at - at;
      wanted.for_each(from, from + length, [&](std::uint64_t there, std::uint64_t bytes, std::uint64_t memory) {
        found.push_back({there + at, bytes, memory, place + inside + (there - from), strength});
      });
    };
    // Those of the shorter list are searched in the longer one.
    if (wanted_pieces < written.pieces()) wanted.for_each(low - at, high - at, find_written);
    else written.for_each(low - written_at, high - written_at, find_wanted);
  }
}

std::vector<SetLookup::Hit> SetLookup::hits(const PieceList& wanted, std::uint64_t at) const {
  std::vector<Hit> found;
  std::uint64_t strength = 0;
  for (const SetIndex::Section& section : index_.sections) {
    const SetIndex::Pattern& pattern = index_.patterns[section.pattern];
    for (std::size_t v = 0; v < pattern.variables.size() && !pattern.ranks.empty(); ++v) {
      const Extent& reach = reach_[section.pattern].shapes[pattern.variables[v].shape];
      const std::uint64_t written_at = pattern.variables[v].at + section.shift;
      if (written_at + reach.offset < at + wanted.end() && at + wanted.begin() < written_at + reach.end())
        add_hits(wanted, at, section, v, strength + v, found);
    }
    strength += pattern.ranks.size() * pattern.variables.size();
  }
  keep_strongest(found);
  return found;
}

void SetLookup::keep_strongest(std::vector<Hit>& hits) {
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.offset < b.offset; });
  const bool overlap = std::adjacent_find(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
                         return a.offset + a.length > b.offset;
                       }) != hits.end();
  if (!overlap) return;
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.strength < b.strength; });
  std::map<std::uint64_t, Hit> top;  // by offset; each hit covers what is there already
  const auto part = [](const Hit& hit, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t cut = from - hit.offset;
    return Hit{from, to - from, hit.memory + cut, hit.place + cut, hit.strength};
  };
  for (const Hit& hit : hits) {
    const std::uint64_t end = hit.offset + hit.length;
    auto under = top.upper_bound(hit.offset);
    if (under != top.begin() && std::prev(under)->second.offset + std::prev(under)->second.length > hit.offset) --under;
    while (under != top.end() && under->first < end) {
      const Hit old = under->second;
      under = top.erase(under);
      if (old.offset < hit.offset) top.emplace(old.offset, part(old, old.offset, hit.offset));
      if (old.offset + old.length > end) top.emplace(end, part(old, end, old.offset + old.length));
    }
    top.emplace(hit.offset, hit);
  }
  hits.clear();
  for (const auto& [offset, hit] : top) hits.push_back(hit);
}

std::vector<Extent> SetLookup::reach() const {
  std::vector<Extent> all;
  for (const SetIndex::Section& section : index_.sections)
    for (const auto& variable : index_.patterns[section.pattern].variables)
      if (!reach_[section.pattern].shapes.empty())
        if (const Extent& extent = reach_[section.pattern].shapes[variable.shape]; extent.length > 0)
          all.push_back({extent.offset + variable.at + section.shift, extent.length});
  std::sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  std::size_t kept = 0;
  for (const Extent& extent : all)
    if (kept > 0 && extent.offset <= all[kept - 1].end())
      all[kept - 1].length = std::max(all[kept - 1].end(), extent.end()) - all[kept - 1].offset;
    else
      all[kept++] = extent;
  all.resize(kept);
  return all;
}

std::vector<SetLookup::Hit> SetLookup::written(Extent within) const {
  PieceList all;
  all.append(within.offset, within.length, 0);
  return hits(all, 0);
}

Result<RankDeclaration> SetLookup::find(const RankDeclaration& wanted, const std::string& path) const {
  RankDeclaration result;
  for (std::size_t v = 0; v < wanted.variables.size(); ++v) {
    const PieceList& pieces = wanted.pieces(v);
    const std::uint64_t at = wanted.variables[v].at;
    std::vector<Hit> found = hits(pieces, at);
    std::size_t next = 0;
    Status status;
    pieces.for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
      std::uint64_t covered = offset + at;
      const std::uint64_t end = covered + length;
      while (next < found.size() && found[next].offset == covered && covered < end) covered += found[next++].length;
      if (covered == end || !status.ok()) return;
      status = problem(Code::end_of_file,
                       fmt::format("cannot read {} at offset {} of '{}': nobody wrote there",
                                   format_bytes(end - covered), covered, path),
                       "declare only what was written: a set of sub-files has no holes");
    });
    if (!status.ok()) return status;
    std::sort(found.begin(), found.end(), [](const Hit& a, const Hit& b) { return a.place < b.place; });
    PieceList list;
    for (const Hit& hit : found) {
      if (hit.place < list.end())
        return problem(Code::corrupt, fmt::format("cannot read '{}': its index has two places for one byte", path));
      list.append(hit.place, hit.length, hit.memory);
    }
    result.shapes.push_back(std::move(list));
    result.memory.push_back(wanted.memory[wanted.variables[v].shape]);
    result.variables.push_back({static_cast<int>(v), 0});
  }
  return result;
}

}  // namespace weir
