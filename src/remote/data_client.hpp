#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <weir/status.hpp>

#include "remote/protocol.hpp"

namespace weir {

struct ServerLink;

/// A client's side of puts and gets to one server whose memory it cannot map.
class DataClient {
 public:
  virtual ~DataClient() = default;

  /// The region that an answer describes. It keeps the link, and so this.
  virtual Result<std::unique_ptr<RemoteRegion>> open(std::shared_ptr<ServerLink> link, const RegionAnswer& answer) = 0;

  /// Moves transfers forward; whether anything moved.
  virtual bool progress() noexcept = 0;
  /// What to poll for until there is something to move forward; a negative descriptor when there is already, or none
  /// can tell.
  virtual pollfd news() noexcept = 0;
  /// How many are under way.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// Begins to flush what was put; under way until it is over.
  virtual Status flush() noexcept = 0;
  virtual Status failure() noexcept = 0;
  /// No memory of the user is touched any more when it returns. Nothing can be moved after it.
  virtual void give_up() noexcept = 0;
  /// Pieces of as many bytes are better moved where they lie than put together first.
  [[nodiscard]] virtual std::uint64_t long_piece() const noexcept = 0;
};

}  // namespace weir
