// The one exception type of the library, and the codes that tell its kinds apart.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cmm {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  // the caller's mistake; a wrong argument of a call also ends the mesh
  kBusy,             // the plan or axis already runs a call of this rank
  kDeadline,         // a wait ended before what it waited for happened
  kPeerFailed,       // another rank failed; the message carries its reason
  kMeshDead,         // an earlier call failed; make a new mesh
  kOutOfMemory,      // an allocation failed; the message says how many bytes
  kUnsupported,      // this build or machine lacks what was asked for
  kBadFile,          // a file's content is not what its format demands
  kIo,               // the operating system refused a file operation
};

std::string_view error_code_name(ErrorCode code);

// Thrown by every public function that fails. `what()` names the values at fault and what would
// be right. `rank()` is the position on the axis of the rank at fault, or -1 where no rank is.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, int rank = -1)
      : std::runtime_error(message), code_(code), rank_(rank) {}

  ErrorCode code() const { return code_; }
  int rank() const { return rank_; }

 private:
  ErrorCode code_;
  int rank_;
};

}  // namespace cmm
