#include "subfile/set_index.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/errors.hpp"

namespace weir {

namespace {

/// The last character is the version.
constexpr std::array<char, SetIndex::recognised_by> magic{'w', 'e', 'i', 'r', 's', 'e', 't', '2'};
constexpr std::uint64_t largest_offset = std::uint64_t{1} << 63;

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

/// How many things follow: each has at least a byte, so more than there are bytes left is an error.
std::uint64_t get_count(Reader& in) {
  const std::uint64_t count = get_number(in);
  if (count <= in.remaining()) return count;
  while (in.ok()) in.get<std::byte>();
  return 0;
}

/// Every run relative to the end of the one before, in the file and in memory: mostly small numbers.
void put_pieces(Writer& out, const PieceList& list) {
  put_number(out, list.runs().size());
  std::uint64_t end = 0, memory = 0;
  for (std::size_t i = 0; i < list.runs().size(); ++i) {
    const Strided run = list.runs()[i];
    put_number(out, run.offset - end);
    put_number(out, run.length);
    put_number(out, run.count);
    if (run.count > 1) put_number(out, run.stride - run.length);
    put_number(out, zigzag(static_cast<std::int64_t>(run.memory - memory)));
    end = run.end();
    memory = run.memory + run.count * run.length;
  }
}

bool get_pieces(Reader& in, PieceList& list) {
  std::vector<Strided> runs(get_count(in));
  std::uint64_t end = 0, memory = 0;
  for (Strided& run : runs) {
    run.offset = end + get_number(in);
    run.length = get_number(in);
    run.count = get_number(in);
    run.stride = run.count > 1 ? run.length + get_number(in) : 0;
    run.memory = memory + static_cast<std::uint64_t>(unzigzag(get_number(in)));
    end = run.count > 0 ? run.end() : 0;
    memory = run.memory + run.count * run.length;
  }
  auto checked = PieceList::checked(std::move(runs));
  if (!checked) return false;
  list = std::move(*checked);
  return true;
}

/// Adds without going beyond what a file can have.
bool add(std::uint64_t& sum, std::uint64_t more) {
  return !__builtin_add_overflow(sum, more, &sum) && sum <= largest_offset;
}

}  // namespace

void put_number(Writer& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.put(static_cast<std::uint8_t>(number | 0x80));
  out.put(static_cast<std::uint8_t>(number));
}

std::uint64_t get_number(Reader& in) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = in.get<std::uint8_t>();
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return number;
}

void SetIndex::Rank::write(Writer& out) const {
  put_number(out, file);
  put_number(out, at);
  put_number(out, shapes.size());
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    put_number(out, shape_bytes[s]);
    put_pieces(out, shapes[s]);
  }
}

SetIndex::Rank SetIndex::Rank::read(Reader& in) {
  Rank rank;
  rank.file = static_cast<std::uint32_t>(get_number(in));
  rank.at = get_number(in);
  const std::uint64_t count = get_count(in);
  for (std::uint64_t s = 0; s < count && in.ok(); ++s) {
    rank.shape_bytes.push_back(get_number(in));
    if (!get_pieces(in, rank.shapes.emplace_back())) rank.shapes.clear();
    if (rank.shapes.empty()) break;  // fewer shapes than sizes: told by `consistent`
  }
  return rank;
}

void SetIndex::write_layout(Writer& out) const {
  put_number(out, file_bytes.size());
  for (const std::uint64_t bytes : file_bytes) put_number(out, bytes);
  put_number(out, patterns.size());
  for (const Pattern& pattern : patterns) {
    put_number(out, pattern.variables.size());
    for (const auto& variable : pattern.variables) {
      put_number(out, static_cast<std::uint64_t>(variable.shape));
      put_number(out, variable.at);
    }
    put_number(out, pattern.ranks.size());
    for (const Rank& rank : pattern.ranks) rank.write(out);
  }
  put_number(out, sections.size());
  for (const Section& section : sections) {
    put_number(out, section.pattern);
    put_number(out, section.shift);
    for (const std::uint64_t at : section.file_at) put_number(out, at);
  }
}

bool SetIndex::read_layout(Reader& in) {
  file_bytes.resize(get_count(in));
  for (std::uint64_t& bytes : file_bytes) bytes = get_number(in);
  patterns.resize(get_count(in));
  for (Pattern& pattern : patterns) {
    pattern.variables.resize(get_count(in));
    for (auto& variable : pattern.variables) {
      const std::uint64_t shape = get_number(in);
      variable.shape = shape < in.remaining() ? static_cast<int>(shape) : -1;
      variable.at = get_number(in);
    }
    pattern.ranks.resize(get_count(in));
    for (Rank& rank : pattern.ranks) rank = Rank::read(in);
  }
  sections.resize(get_count(in));
  for (Section& section : sections) {
    section.pattern = static_cast<std::uint32_t>(get_number(in));
    section.shift = get_number(in);
    if (in.remaining() < file_bytes.size()) return false;
    section.file_at.resize(file_bytes.size());
    for (std::uint64_t& at : section.file_at) at = get_number(in);
  }
  return in.ok();
}

std::uint64_t SetIndex::Pattern::checksums_of(const Rank& rank) const {
  std::uint64_t count = 0;
  for (const auto& variable : variables) count += weir::checksums_of(rank.shape_bytes[variable.shape]);
  return count;
}

bool SetIndex::read_sums(Reader& in) {
  for (Section& section : sections) {
    const Pattern& pattern = patterns[section.pattern];
    for (const Rank& rank : pattern.ranks) {
      const std::uint64_t count = pattern.checksums_of(rank);
      if (count > in.remaining() / sizeof count) return false;
      for (std::uint64_t& sum : section.sums.emplace_back(count)) sum = in.get<std::uint64_t>();
    }
  }
  return in.ok() && in.at_end();
}

std::vector<StoredVariable> SetIndex::stored_in(std::uint32_t file) const {
  std::vector<StoredVariable> stored;
  for (const Section& section : sections) {
    const Pattern& pattern = patterns[section.pattern];
    for (std::size_t r = 0; r < pattern.ranks.size(); ++r) {
      const Rank& rank = pattern.ranks[r];
      if (rank.file != file) continue;
      std::uint64_t at = section.file_at[file] + rank.at;
      const std::uint64_t* sums = section.sums[r].data();
      for (const auto& variable : pattern.variables) {
        const std::uint64_t bytes = rank.shape_bytes[variable.shape];
        if (bytes > 0) stored.push_back({at, bytes, sums});
        at += bytes;
        sums += checksums_of(bytes);
      }
    }
  }
  return stored;
}

void SetIndex::reorder(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> now(order.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) now[order[k]] = k;
  const auto permute = [&](auto& values) {
    auto old = values;
    for (std::size_t k = 0; k < order.size(); ++k) values[k] = old[order[k]];
  };
  permute(file_bytes);
  permute(hosts);
  for (Section& section : sections) permute(section.file_at);
  for (Pattern& pattern : patterns)
    for (Rank& rank : pattern.ranks) rank.file = now[rank.file];
}

bool SetIndex::consistent() const {
  const std::size_t count = file_bytes.size();
  if (count == 0 || count > FileGroups::most_files || stem.empty() || stem.find('/') != std::string::npos) return false;
  if (hosts.size() != count) return false;
  for (const std::uint64_t bytes : file_bytes)
    if (bytes > FileGroups::for_reading(files()).room()) return false;
  std::vector<std::vector<std::uint64_t>> section_bytes;  // by pattern and sub-file
  std::vector<std::uint64_t> ends(patterns.size(), 0);    // of the offsets in a pattern
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    auto& needed = section_bytes.emplace_back(count, 0);
    for (const Rank& rank : patterns[p].ranks) {
      if (rank.file >= count || rank.shapes.size() != rank.shape_bytes.size()) return false;
      for (std::size_t s = 0; s < rank.shapes.size(); ++s)
        for (std::size_t i = 0; i < rank.shapes[s].runs().size(); ++i)
          if (const Strided run = rank.shapes[s].runs()[i]; run.memory + run.bytes() > rank.shape_bytes[s]) return false;
      std::uint64_t end = rank.at;
      for (const auto& variable : patterns[p].variables) {
        if (variable.shape < 0 || static_cast<std::size_t>(variable.shape) >= rank.shapes.size()) return false;
        std::uint64_t reach = variable.at;
        if (!add(reach, rank.shapes[variable.shape].end()) || !add(end, rank.shape_bytes[variable.shape])) return false;
        ends[p] = std::max(ends[p], reach);
      }
      needed[rank.file] = std::max(needed[rank.file], end);
    }
  }
  for (const Section& section : sections) {
    if (section.pattern >= patterns.size()) return false;
    std::uint64_t reach = section.shift;
    if (!add(reach, ends[section.pattern])) return false;
    for (std::size_t f = 0; f < count; ++f) {
      std::uint64_t end = section.file_at[f];
      if (!add(end, section_bytes[section.pattern][f]) || end > file_bytes[f]) return false;
    }
  }
  return true;
}

std::uint64_t SetIndex::layout_hash() const {
  Writer out;
  write_layout(out);
  return XXH3_64bits(out.data().data(), out.data().size());
}

std::vector<std::byte> SetIndex::encoded() const {
  Writer out;
  for (const char letter : magic) out.put(letter);
  out.put(id);
  out.put(stem);
  out.put(written_ns);
  put_number(out, hosts.size());
  for (const std::string& host : hosts) out.put(host);
  write_layout(out);
  for (const Section& section : sections)
    for (const auto& sums : section.sums)
      for (const std::uint64_t sum : sums) out.put(sum);
  out.put(XXH3_64bits(out.data().data(), out.data().size()));
  return out.data();
}

bool SetIndex::recognises(std::span<const std::byte> beginning) noexcept {
  return beginning.size() >= recognised_by && std::memcmp(beginning.data(), magic.data(), magic.size() - 1) == 0;
}

Result<SetIndex> SetIndex::decoded(std::span<const std::byte> bytes, const std::string& path) {
  const auto damaged = [&](const char* reason, const char* remedy) {
    return problem(Code::corrupt, fmt::format("cannot open '{}': {}", path, reason), remedy);
  };
  const auto not_whole = [&] {
    return damaged("the index of its sub-files is damaged", "the data cannot be found without it: write the set again");
  };
  std::uint64_t hash = 0;
  if (!recognises(bytes) || bytes.size() < recognised_by + sizeof hash) return not_whole();
  const auto body = bytes.first(bytes.size() - sizeof hash);
  std::memcpy(&hash, body.data() + body.size(), sizeof hash);
  if (hash != XXH3_64bits(body.data(), body.size())) return not_whole();
  Reader in{body};
  if (in.get<std::remove_cv_t<decltype(magic)>>() != magic)
    return damaged("it is an index of sub-files of another version", "read it with the Weir that wrote it");
  SetIndex index;
  index.id = in.get<std::uint64_t>();
  index.stem = in.text();
  index.written_ns = in.get<std::int64_t>();
  index.hosts.resize(get_count(in));
  for (std::string& host : index.hosts) host = in.text();
  if (!index.read_layout(in) || !index.consistent() || !index.read_sums(in)) return not_whole();
  return index;
}

}  // namespace weir
