#include "cmm/error.hpp"

namespace cmm {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kDeadline:
      return "deadline";
    case ErrorCode::kPeerFailed:
      return "peer failed";
    case ErrorCode::kMeshDead:
      return "mesh dead";
    case ErrorCode::kOutOfMemory:
      return "out of memory";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kBadFile:
      return "bad file";
    case ErrorCode::kIo:
      return "input/output";
  }
  return "unknown";
}

}  // namespace cmm
