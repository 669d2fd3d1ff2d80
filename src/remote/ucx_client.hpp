#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <weir/status.hpp>

#include "remote/protocol.hpp"

namespace weir {

struct ServerLink;

/// A client's side of puts and gets through UCX, to one server.
class UcxClient {
 public:
  /// `unsupported` where Weir was built without UCX, or it is not installed.
  static Result<std::unique_ptr<UcxClient>> make();
  virtual ~UcxClient() = default;

  /// The region that an answer describes. It keeps the link, and so this.
  virtual Result<std::unique_ptr<RemoteRegion>> open(std::shared_ptr<ServerLink> link, const RegionAnswer& answer) = 0;

  /// Moves transfers forward; whether anything moved.
  virtual bool progress() noexcept = 0;
  /// A descriptor that can be read when there is something to move forward; below 0 when there is already, or none can
  /// tell.
  virtual int news() noexcept = 0;
  /// How many are under way.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// Begins to flush what was put; under way until it is over.
  virtual Status flush() noexcept = 0;
  virtual Status failure() noexcept = 0;
  /// No memory of the user is touched any more when it returns. Nothing can be moved after it.
  virtual void give_up() noexcept = 0;
};

}  // namespace weir
