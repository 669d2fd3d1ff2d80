#include "weir_mover.hpp"

namespace weir::bench {

Settings merged(Settings settings, const Settings& more) {
  for (const auto& [key, value] : more) settings[key] = value;
  return settings;
}

WeirMover::WeirMover(MPI_Comm communicator, Settings settings, std::string name, Ends ends)
    : communicator_{communicator}, settings_{std::move(settings)}, name_{std::move(name)}, ends_{ends} {}

void WeirMover::prepare(const Scene& scene, Operation operation, StepKind step) {
  if (step == StepKind::repeated && plan_ && planned_for_ == operation) return;
  plan_.reset();
  last_.reset();
  context_.reset();
  context_ = Context::make(communicator_, settings_).value();
  if (step == StepKind::first) return;
  move(scene, operation);
  settle();
  plan_ = last_->plan();
  planned_for_ = operation;
}

Result<File> WeirMover::open(const Scene& scene, Operation operation) {
  if (plan_) {
    if (operation == Operation::read) return context_->open(scene.path, *plan_);
    return scene.existing ? context_->update(scene.path, *plan_) : context_->create(scene.path, *plan_);
  }
  if (operation == Operation::read) return context_->open(scene.path);
  return scene.existing ? context_->update(scene.path) : context_->create(scene.path);
}

void WeirMover::move(const Scene& scene, Operation operation) {
  const Buffers& buffers = scene.buffers;
  File file = open(scene, operation).value();
  Step step = (plan_ ? file.step() : file.declare(declaration(buffers.part()))).value();
  for (std::size_t v = 0; v < buffers.variables(); ++v) {
    const auto variable = static_cast<int>(v);
    (operation == Operation::write ? step.write(variable, buffers.data(v), buffers.bytes(v))
                                   : step.read(variable, buffers.data(v), buffers.bytes(v)))
        .value();
  }
  if (operation == Operation::write && ends_ == Ends::absorbed) {
    step.absorb().value();
    absorbing_ = std::move(file);
  } else {
    file.close(step).value();
  }
  last_ = std::move(step);
}

void WeirMover::settle() {
  if (absorbing_) absorbing_->close().value();
  absorbing_.reset();
}

}  // namespace weir::bench
