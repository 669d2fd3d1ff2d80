#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir {

/// One transfer to or from a rank of another node. Both sides know its size and order; the owner keeps it in place until
/// it is done.
struct Parcel {
  int peer = -1;
  int tag = 0;  ///< parcels of one pair of ranks and one tag arrive in the order in which they were sent
  std::byte* data = nullptr;
  int size = 0;

  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Aint place = 0;
  int stage = 0;
};

/// How bytes go between nodes. `send` and `receive` start, `done` makes progress and tells.
class Link {
 public:
  virtual ~Link() = default;
  virtual void send(Parcel& parcel) = 0;
  virtual void receive(Parcel& parcel) = 0;
  virtual bool done(Parcel& parcel) = 0;
};

/// Sends and receives.
class TwoSidedLink : public Link {
 public:
  explicit TwoSidedLink(MPI_Comm communicator) : communicator_{communicator} {}
  void send(Parcel& parcel) override;
  void receive(Parcel& parcel) override;
  bool done(Parcel& parcel) override;

 private:
  MPI_Comm communicator_;
};

/// The receiver tells where there is room, the sender puts the bytes there and says so. All receiving memory lies in the
/// window, at `base` on this rank.
class OneSidedLink : public Link {
 public:
  OneSidedLink(MPI_Comm communicator, MPI_Win window, const std::byte* base)
      : communicator_{communicator}, window_{window}, base_{base} {}
  void send(Parcel& parcel) override;
  void receive(Parcel& parcel) override;
  bool done(Parcel& parcel) override;

 private:
  MPI_Comm communicator_;
  MPI_Win window_;
  const std::byte* base_;
};

}  // namespace weir
