#pragma once

#include "remote/data_client.hpp"

namespace weir {

/// Puts and gets over a socket of their own, of the kind that the server listens at; connects when the first region is
/// opened.
std::unique_ptr<DataClient> make_socket_client(const Contact& contact, const RemoteOptions& options);

}  // namespace weir
