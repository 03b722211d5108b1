// What becomes of an axis when a collective operation of this rank fails.
#pragma once

#include <chrono>
#include <exception>

#include "base/deadline.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/mesh.hpp"
#include "transport/transport.hpp"

namespace cmm::api {

// An error that every rank throws alike, by agreement: the mesh stays usable.
class Refused : public Error {
 public:
  using Error::Error;
};

// Of an agreement in which a rank takes part though its own limit is wrong, to tell its peers.
inline Deadline agreement_deadline(std::chrono::milliseconds limit) {
  return Deadline(limit.count() > 0 ? limit : kDefaultDeadline);
}

// Ends the axis with the cause that `make` gives; where there is no memory for its words, by
// leaving.
template <class Make>
void tell_peers(transport::Endpoint& endpoint, Make make) noexcept {
  try {
    endpoint.fail(make());
  } catch (...) {
    endpoint.leave("it found no memory to say why it failed");
  }
}

// Runs this rank's part of an operation that its peers are in, too, and would wait for. Throws what
// it throws, or, where another rank failed first, that rank's cause.
template <class Part>
auto collectively(transport::Endpoint& endpoint, const char* operation, Part part) {
  try {
    return part();
  } catch (const Refused&) {
    throw;
  } catch (const Error& error) {
    tell_peers(endpoint, [&] { return error; });
    endpoint.check_alive();
    throw;
  } catch (const std::exception& error) {
    tell_peers(endpoint, [&] {
      return Error(
          ErrorCode::kPeerFailed,
          cat("rank ", endpoint.rank(), " was interrupted in ", operation, ": ", error.what()),
          endpoint.rank());
    });
    throw;
  }
}

}  // namespace cmm::api
