#include "simulated_storage.hpp"

#include <algorithm>
#include <vector>

namespace weir::sim {
namespace {

namespace s4u = simgrid::s4u;

class SimulatedStorage final : public Storage {
 public:
  SimulatedStorage(SimulatedMachine& machine, std::unique_ptr<Storage> contents)
      : machine_{machine}, contents_{std::move(contents)} {}

  void submit(Io& io) noexcept override {
    Io moved = io;
    contents_->submit(moved);
    s4u::Host* here = s4u::this_actor::get_host();
    s4u::Host* from = io.kind == Io::Kind::write ? here : machine_.storage();
    s4u::Host* to = io.kind == Io::Kind::write ? machine_.storage() : here;
    machine_.carried(from, to, moved.done);
    under_way_.push_back({s4u::Comm::sendto_async(from, to, moved.done), &io, moved});
  }
  std::size_t poll() noexcept override {
    std::erase_if(under_way_, [](Transfer& each) {
      if (!each.comm->test()) return false;
      *each.io = each.outcome;
      return true;
    });
    return under_way_.size();
  }
  void wait() noexcept override {
    if (poll() == 0) return;
    std::vector<s4u::CommPtr> all;
    for (const Transfer& each : under_way_) all.push_back(each.comm);
    const auto ended = static_cast<std::size_t>(s4u::Comm::wait_any(all));
    *under_way_[ended].io = under_way_[ended].outcome;
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(ended));
  }
  int sync() noexcept override { return contents_->sync(); }
  int close() noexcept override { return contents_->close(); }
  std::int64_t size() noexcept override { return contents_->size(); }

 private:
  struct Transfer {
    s4u::CommPtr comm;
    Io* io;
    Io outcome;  ///< what `io` will say when the bytes have come
  };
  SimulatedMachine& machine_;
  std::unique_ptr<Storage> contents_;
  std::vector<Transfer> under_way_;
};

class SimulatedStorageSystem final : public StorageSystem {
 public:
  SimulatedStorageSystem(SimulatedMachine& machine, std::shared_ptr<MemoryStorageSystem::Files> files)
      : machine_{machine}, contents_{std::move(files)} {}

  StorageTraits traits(const std::string&) override { return machine_.storage_traits(); }
  Result<std::unique_ptr<Storage>> open(const std::string& path, OpenMode mode) override {
    auto opened = contents_.open(path, mode);
    if (!opened) return opened.status();
    return std::unique_ptr<Storage>{new SimulatedStorage{machine_, *std::move(opened)}};
  }
  Status rename(const std::string& from, const std::string& to) override { return contents_.rename(from, to); }
  Status remove(const std::string& path) override { return contents_.remove(path); }
  Status sync_directory(const std::string&) override { return {}; }

 private:
  SimulatedMachine& machine_;
  MemoryStorageSystem contents_;
};

}  // namespace

std::unique_ptr<StorageSystem> simulated_storage(SimulatedMachine& machine,
                                                 std::shared_ptr<MemoryStorageSystem::Files> files) {
  return std::make_unique<SimulatedStorageSystem>(machine, std::move(files));
}

}  // namespace weir::sim
