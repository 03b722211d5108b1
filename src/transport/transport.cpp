#include "transport/transport.hpp"

#include <iterator>

#include "base/text.hpp"

namespace cmm::transport {

std::string describe(const CallHeader& header) {
  const std::string operation =
      header.operation == static_cast<std::int64_t>(Operation::kAllGatherMatmul)
          ? "all_gather_matmul"
      : header.operation == static_cast<std::int64_t>(Operation::kAllGather)
          ? "all_gather"
          : cat("operation ", header.operation);
  return cat("call ", header.call, " of ", operation, " with m=", header.m);
}

std::string describe_kind(std::uint64_t kind) {
  constexpr const char* kPurposes[] = {"makes a plan", "exchanges a text", "comes to a barrier"};
  static_assert(std::size(kPurposes) == kFirstCall);
  return kind < kFirstCall ? kPurposes[kind] : cat("calls plan ", kind - kFirstCall + 1);
}

void check_extents(const Rows& offered, const Extents& expected, const Origin& origin) {
  if (offered.num_rows == expected.num_rows && offered.row_bytes == expected.row_bytes) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat("rank ", origin.peer, " offers chunk ", origin.chunk, " as ", offered.num_rows,
                  " rows of ", offered.row_bytes, " bytes; expected are ", expected.num_rows,
                  " rows of ", expected.row_bytes, " bytes"));
}

Error told_to_peers(const Error& error, int rank) {
  const bool shared = error.code() == ErrorCode::kDeadline ||
                      error.code() == ErrorCode::kPeerFailed || error.rank() < 0;
  if (shared) return error;
  return Error(ErrorCode::kPeerFailed, cat("rank ", rank, " failed: ", error.what()), rank);
}

}  // namespace cmm::transport
