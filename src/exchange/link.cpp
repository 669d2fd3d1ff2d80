#include "exchange/link.hpp"

namespace weir {

namespace {

constexpr int tags_a_parcel = 3;
int data_tag(const Parcel& parcel) { return parcel.tag * tags_a_parcel; }
int room_tag(const Parcel& parcel) { return parcel.tag * tags_a_parcel + 1; }
int there_tag(const Parcel& parcel) { return parcel.tag * tags_a_parcel + 2; }

bool tested(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

enum Stage { waiting_for_room, telling_that_it_is_there, telling_room, waiting_for_data };

}  // namespace

void TwoSidedLink::send(Parcel& parcel) {
  MPI_Isend(parcel.data, parcel.size, MPI_BYTE, parcel.peer, data_tag(parcel), communicator_, &parcel.request);
}

void TwoSidedLink::receive(Parcel& parcel) {
  MPI_Irecv(parcel.data, parcel.size, MPI_BYTE, parcel.peer, data_tag(parcel), communicator_, &parcel.request);
}

bool TwoSidedLink::done(Parcel& parcel) { return tested(parcel.request); }

void OneSidedLink::send(Parcel& parcel) {
  parcel.stage = waiting_for_room;
  MPI_Irecv(&parcel.place, sizeof parcel.place, MPI_BYTE, parcel.peer, room_tag(parcel), communicator_,
            &parcel.request);
}

void OneSidedLink::receive(Parcel& parcel) {
  parcel.stage = telling_room;
  parcel.place = static_cast<MPI_Aint>(parcel.data - base_);
  MPI_Isend(&parcel.place, sizeof parcel.place, MPI_BYTE, parcel.peer, room_tag(parcel), communicator_,
            &parcel.request);
}

bool OneSidedLink::done(Parcel& parcel) {
  if (!tested(parcel.request)) return false;
  switch (parcel.stage) {
    case waiting_for_room:
      MPI_Put(parcel.data, parcel.size, MPI_BYTE, parcel.peer, parcel.place, parcel.size, MPI_BYTE, window_);
      MPI_Win_flush(parcel.peer, window_);
      MPI_Isend(nullptr, 0, MPI_BYTE, parcel.peer, there_tag(parcel), communicator_, &parcel.request);
      parcel.stage = telling_that_it_is_there;
      return tested(parcel.request);
    case telling_room:
      MPI_Irecv(nullptr, 0, MPI_BYTE, parcel.peer, there_tag(parcel), communicator_, &parcel.request);
      parcel.stage = waiting_for_data;
      return done(parcel);
    case waiting_for_data:
      MPI_Win_sync(window_);
      return true;
    default:
      return true;
  }
}

}  // namespace weir
