#include "bench_peer.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bench_common.hpp"
#include "bench_job.hpp"
#include "child.hpp"
#include "commands.hpp"
#include "core/descriptor.hpp"
#include "core/errors.hpp"
#include "core/stopwatch.hpp"
#include "core/units.hpp"
#include "launch.hpp"
#include "memory_server_process.hpp"
#include "remote/remote_memory.hpp"
#include "statistics.hpp"
#include "text_table.hpp"

namespace weir::tools {
namespace {

constexpr std::uint64_t region_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t run_bytes = std::uint64_t{64} << 20;
constexpr std::size_t outstanding = 32;
constexpr double patience_s = 60;

/// How often a message of a size is sent in one run.
std::uint64_t messages(std::uint64_t size) { return std::clamp<std::uint64_t>(run_bytes / size, 16, 8192); }

enum class Verb { put, get };

/// This process's side of a memory server.
class Ours {
 public:
  explicit Ours(const std::string& contact) {
    RemoteOptions options;
    options.contact = contact;
    options.transport = "ucx";
    memory_ = connect_remote_memory(options).value();
    region_ = memory_->allocate({{1, 2}, 3, 4}, region_bytes).value();
    buffer_.resize(region_bytes);
    for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = static_cast<std::byte>(i * 31 + (i >> 12));
    pattern_ = buffer_;
  }

  /// Bytes a second, of the same bytes again and again, as the peer does.
  double rate(Verb verb, std::uint64_t size, std::uint64_t count) {
    const Stopwatch watch;
    for (std::uint64_t k = 0; k < count; ++k) {
      (verb == Verb::put ? region_->put(0, pattern_.data(), size) : region_->get(0, buffer_.data(), size)).value();
      while (memory_->progress() >= outstanding) {
      }
    }
    memory_->flush().value();
    return static_cast<double>(size * count) / watch.seconds();
  }

  /// All that was put is there.
  void check() {
    rate(Verb::put, region_bytes, 1);
    std::ranges::fill(buffer_, std::byte{});
    rate(Verb::get, region_bytes, 1);
    if (buffer_ != pattern_) throw Error{problem(Code::corrupt, "what was put into remote memory is not what is got")};
  }

 private:
  std::unique_ptr<RemoteMemory> memory_;
  std::unique_ptr<RemoteRegion> region_;
  std::vector<std::byte> buffer_, pattern_;
};

std::string free_port() {
  const Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw Error{system_problem(errno, "find a free port")};
  return std::to_string(ntohs(address.sin_port));
}

/// What a program prints before it ends; empty when it ends with an error.
std::string output_of(const std::vector<std::string>& command) {
  bench::Child child{command};
  std::string text;
  const Stopwatch watch;
  while (true) {
    std::string more;
    const auto got = child.read(more, 0.1);
    text += more;
    if (got == bench::Child::Got::end) break;
    if (watch.seconds() > patience_s || bench::interrupted()) child.end();
  }
  const int status = child.wait();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string{};
}

/// Bytes a second of `ucx_perftest`, whose two sides are on this machine too.
double peer_rate(Verb verb, std::uint64_t size, std::uint64_t count) {
  const std::string program = "ucx_perftest", port = free_port();
  bench::Child server{{program, "-p", port}};
  const std::vector<std::string> client{program, "127.0.0.1", "-p", port, "-t", verb == Verb::put ? "ucp_put_bw" : "ucp_get",
                                        "-s", std::to_string(size), "-n", std::to_string(count), "-w", "16",
                                        "-O", std::to_string(outstanding), "-f", "-v"};
  std::string text;
  const Stopwatch watch;
  while (text.empty() && watch.seconds() < patience_s && !bench::interrupted()) text = output_of(client);
  server.end();
  (void)server.wait();
  // iterations, then latencies, then bandwidths in MiB/s: lately and of all, then messages a second
  const std::size_t line = text.find_last_of('\n', text.size() - 2);
  std::vector<double> numbers;
  for (const char* at = text.c_str() + (line == std::string::npos ? 0 : line + 1); *at;) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at) break;
    at = *end == ',' ? end + 1 : end + std::strlen(end);
  }
  if (numbers.size() < 4 || numbers[numbers.size() - 3] <= 0)
    throw Error{problem(Code::not_found, "cannot run ucx_perftest, UCX's own benchmark, or understand it",
                        "install it: the package ucx-utils on Debian")};
  return numbers[numbers.size() - 3] * 1024 * 1024;
}

std::string rate_text(double rate) { return fmt::format("{:.0f} MB/s", rate / 1e6); }

}  // namespace

void run_bench_peer(const PeerOptions& options) {
  const Scratch scratch{options.directory, "--dir"};
  const ServerProcess server{scratch.path(), 2 * region_bytes};
  Ours ours{server.contact()};
  const Progress progress;
  std::vector<std::vector<std::string>> table{{"message", "verb", "through a memory server", "ucx_perftest", "ratio"}};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  double done = 0;
  for (const std::string& text : options.sizes) {
    const auto size = parse_bytes(text);
    if (!size || *size == 0 || *size > region_bytes)
      throw Error{problem(Code::invalid, fmt::format("--sizes '{}' is not a number of bytes up to {}", text,
                                                     format_bytes(region_bytes)))};
    for (const Verb verb : {Verb::put, Verb::get}) {
      const char* name = verb == Verb::put ? "put" : "get";
      std::vector<double> here, there;
      for (int pair = 0; pair < options.pairs && !bench::interrupted(); ++pair) {
        progress.show(fmt::format("{} {}", name, text), done / static_cast<double>(2 * options.sizes.size()));
        ours.rate(verb, *size, 16);
        here.push_back(ours.rate(verb, *size, messages(*size)));
        there.push_back(peer_rate(verb, *size, messages(*size)));
      }
      ++done;
      const bench::Ratio ratio = bench::ratio_of_pairs(here, there);
      table.push_back({text, name, rate_text(bench::median(here)), rate_text(bench::median(there)),
                       fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.ratio, ratio.interval.low, ratio.interval.high)});
      json.push_back({{"bytes", *size}, {"verb", name}, {"weir", here}, {"ucx_perftest", there}, {"ratio", ratio.ratio}});
    }
  }
  ours.check();
  progress.clear();
  print_results(options.json,
                fmt::format("bytes a second by {} on {}, up to {} messages under way:\n{}", std::getenv("UCX_TLS"),
                            std::getenv("UCX_NET_DEVICES"), outstanding, bench::aligned(table)),
                json);
}

}  // namespace weir::tools
