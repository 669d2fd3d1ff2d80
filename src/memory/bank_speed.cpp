#include "memory/bank_speed.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "core/stopwatch.hpp"
#include "memory/dram_bank.hpp"

namespace weir {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t cache_line = 64;
constexpr int most_repetitions = 15;

/// One cycle through all lines in random order (Sattolo), so that the next address is known only when a line has
/// arrived.
void make_chain(std::byte* data, std::uint64_t lines) {
  std::vector<std::uint32_t> next(lines);
  std::iota(next.begin(), next.end(), 0u);
  std::mt19937 random{1};
  for (std::size_t k = lines - 1; k > 0; --k)
    std::swap(next[k], next[std::uniform_int_distribution<std::size_t>{0, k - 1}(random)]);
  for (std::size_t k = 0; k < lines; ++k) std::memcpy(data + k * cache_line, &next[k], sizeof next[k]);
}

double seconds_a_hop(const std::byte* data, std::uint32_t& at) {
  constexpr int hops = 20'000;
  const Stopwatch watch;
  for (int k = 0; k < hops; ++k) std::memcpy(&at, data + at * cache_line, sizeof at);
  // The compiler must believe that somebody looks at the end.
  asm volatile("" : "+r"(at));
  return watch.seconds() / hops;
}

/// Bytes a second of some work.
template <class Move>
double rate(std::uint64_t size, Move&& move) {
  const Stopwatch watch;
  move();
  asm volatile("" : : : "memory");
  return static_cast<double>(size) / std::max(watch.seconds(), 1e-9);
}

}  // namespace

std::uint64_t beyond_caches(const NodeFacts& facts) {
  std::uint64_t largest = 0;
  for (const CacheFacts& cache : facts.caches)
    if (cache.level > 0) largest = std::max(largest, static_cast<std::uint64_t>(cache.each.value));
  return std::clamp(2 * largest, 32 * mib, 256 * mib) / mib * mib;
}

Result<BankSpeed> measure_bank(MemoryBank& bank, std::uint64_t buffer, double seconds) {
  BankAttributes ordinary;
  ordinary.name = "the other end of copies";
  DramBank dram{ordinary};
  auto inside = bank.allocate(buffer), outside = dram.allocate(buffer);
  if (!inside) return inside.status();
  if (!outside) return outside.status();
  BankSpeed speed;
  // The first copies also make the pages known to the processor.
  std::memset(outside->data(), 1, buffer);
  Status status;
  const auto put = [&] {
    status = inside->put(0, outside->data(), buffer);
    if (status && !inside->data()) status = inside->flush();
  };
  const auto get = [&] { status = inside->get(0, outside->data(), buffer); };
  put();
  const auto until_failure = [&](auto& move, std::vector<double>& samples) {
    repeat(seconds / 3, most_repetitions, [&] { return status ? rate(buffer, move) : 1; }, samples);
  };
  until_failure(put, speed.write);
  until_failure(get, speed.read);
  if (!inside->data())
    repeat(seconds / 3, most_repetitions, [&] {
      const Stopwatch watch;
      if (status) status = inside->get(0, outside->data(), 1);
      return watch.seconds();
    }, speed.latency);
  if (!status) return status;
  if (!inside->data()) return speed;
  make_chain(inside->data(), std::min(buffer, 64 * mib) / cache_line);
  std::uint32_t at = 0;
  repeat(seconds / 3, most_repetitions, [&] { return seconds_a_hop(inside->data(), at); }, speed.latency);
  return speed;
}

}  // namespace weir
