#include <mpi.h>

#include <random>

#include "engine/context.hpp"

namespace weir {

Status Context::Impl::connect_remote() {
  RemoteOptions options = RemoteOptions::of(settings);
  if (options.contact.empty()) return {};
  auto memory = connect_remote_memory(options);
  if (!memory) return memory.status();
  remote.emplace();
  remote->options = std::move(options);
  remote->memory = std::move(*memory);
  remote->falls_back = settings.text("remote.when_lost") == "two-phase";
  remote->wait_for_room_s = static_cast<double>(settings.number("remote.wait_for_room"));
  remote->synchronous = settings.flag("remote.synchronous");
  return {};
}

void Context::Impl::name_regions() {
  std::random_device random;
  for (std::uint64_t& key : remote->name.key) key = std::uint64_t{random()} << 32 | random();
  team->connect();
  MPI_Bcast(remote->name.key, 2, MPI_UINT64_T, 0, team->communicator());
}

}  // namespace weir
