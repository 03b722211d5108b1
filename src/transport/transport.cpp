#include "transport/transport.hpp"

#include "base/text.hpp"

namespace cmm::transport {

std::string describe(const CallHeader& header) {
  return cat("call ", header.call, " with m=", header.m, " and operation ", header.operation);
}

void check_extents(const Rows& offered, const Extents& expected, const Origin& origin) {
  if (offered.num_rows == expected.num_rows && offered.row_bytes == expected.row_bytes) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat("rank ", origin.peer, " offers chunk ", origin.chunk, " as ", offered.num_rows,
                  " rows of ", offered.row_bytes, " bytes; expected are ", expected.num_rows,
                  " rows of ", expected.row_bytes, " bytes"));
}

Error mesh_dead(const Error& cause) {
  return Error(ErrorCode::kMeshDead,
               cat("the mesh is dead since an earlier call failed; make a new one. The cause: ",
                   cause.what()),
               cause.rank());
}

}  // namespace cmm::transport
