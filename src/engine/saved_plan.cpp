#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <fstream>
#include <vector>

#include "core/errors.hpp"
#include "engine/context.hpp"

/// A saved plan: a magic word, the ranks and their nodes, the layout, every rank's declaration, and a hash of all that.
namespace weir {

namespace {

constexpr std::array<char, 8> magic{'w', 'e', 'i', 'r', 'p', 'l', 'n', '3'};

void write_rank(Writer& out, const Plan::Impl& impl) {
  impl.plan.declaration.write(out);
  out.put(impl.plan.variable_bytes);
  impl.set.write(out);
}

Status write_file(const std::string& path, const std::vector<std::byte>& content) {
  errno = 0;
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) return system_problem(errno ? errno : EIO, fmt::format("save a plan to '{}'", path));
  return {};
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  errno = 0;
  std::ifstream in{path, std::ios::binary | std::ios::ate};
  if (!in) return system_problem(errno ? errno : EIO, fmt::format("load a plan from '{}'", path));
  std::vector<std::byte> content(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!in) return system_problem(EIO, fmt::format("load a plan from '{}'", path));
  return content;
}

struct Saved {
  std::vector<std::byte> layout;
  RankDeclaration declaration;
  std::vector<std::uint64_t> variable_bytes;
  SetPlan set;
};

Status read_saved(const std::string& path, const Team& team, Saved& saved) {
  auto content = read_file(path);
  if (!content) return content.status();
  const auto damaged = [&] {
    return problem(Code::corrupt, fmt::format("cannot load a plan from '{}': it is not a whole saved plan", path),
                   "save it again with Plan::save");
  };
  if (content->size() < magic.size() + sizeof(std::uint64_t)) return damaged();
  const std::span<const std::byte> body{content->data(), content->size() - sizeof(std::uint64_t)};
  std::uint64_t hash = 0;
  std::memcpy(&hash, body.data() + body.size(), sizeof hash);
  Reader in{body};
  if (in.get<std::array<char, 8>>() != magic || hash != XXH3_64bits(body.data(), body.size())) return damaged();
  const auto node_of = in.vector<int>();
  if (node_of != team.nodes().node_of)
    return problem(Code::mismatch,
                   fmt::format("cannot load a plan from '{}': it was made by {} ranks, these are {} or lie on other nodes",
                               path, node_of.size(), team.size()),
                   "declare anew");
  saved.layout = in.vector<std::byte>();
  for (int rank = 0; rank < team.size(); ++rank) {
    const auto blob = in.vector<std::byte>();
    if (rank != team.rank()) continue;
    Reader inner{blob};
    saved.declaration = RankDeclaration::read(inner);
    saved.variable_bytes = inner.vector<std::uint64_t>();
    saved.set = SetPlan::read(inner);
    if (!inner.ok()) return damaged();
  }
  if (!in.ok()) return damaged();
  return {};
}

}  // namespace

Status Plan::save(const std::string& path) const { return save_plan(*impl_, path, {}); }

Status save_plan(const Plan::Impl& plan, const std::string& path, const Status& mine) {
  if (Status status = check_mpi(); !status.ok()) return status;
  Team& team = *plan.team;
  Writer own;
  Outcome outcome;
  outcome.call = call_id(Call::save, 0);
  outcome.fail(mine, team.rank());
  outcome.fail(attempt("save a plan", [&] { return write_rank(own, plan), Status{}; }), team.rank());
  auto all = team.gather(own.data(), outcome);
  if (!all) return all.status();
  if (team.rank() == 0)
    outcome.fail(attempt("save a plan", [&] {
      Writer layout, whole;
      plan.plan.layout.write(layout);
      whole.put(magic);
      whole.put(team.nodes().node_of);
      whole.put(layout.data());
      for (const auto& blob : *all) whole.put(std::vector<std::byte>(blob.begin(), blob.end()));
      whole.put(XXH3_64bits(whole.data().data(), whole.data().size()));
      return write_file(path, whole.data());
    }), 0);
  return agreed(team.agree(outcome));
}

Result<Plan> Context::load_plan(const std::string& path) {
  if (Status status = check_mpi(); !status.ok()) return status;
  impl_->drain();
  Saved saved;
  std::shared_ptr<Plan::Impl> made;
  Status mine = impl_->take_handicap();
  if (mine.ok()) mine = attempt("load a plan", [&] {
    made = std::make_shared<Plan::Impl>();
    return read_saved(path, *impl_->team, saved);
  });
  if (Status status = impl_->agree(Call::load, 0, mine); !status.ok()) return status;
  if (Status status = complete_plan(*impl_->team, std::move(saved.declaration), saved.layout, made->plan); !status.ok())
    return status;
  made->plan.variable_bytes = std::move(saved.variable_bytes);
  made->set = std::move(saved.set);
  made->team = impl_->team;
  made->serial = ++impl_->plan_count;
  return Plan{made};
}

}  // namespace weir
