// What ranks and the server of a meeting say to each other (meeting.hpp has the order). Fixed-size
// and plain; both ends run on one host, and the byte-order mark and the version refuse whatever is
// not of this build's kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cmm/error.hpp"
#include "transport/shm/process.hpp"

namespace cmm::transport::shm {

enum class Kind : std::uint32_t {
  kAsk = 1,   // rank: I am here, for a mesh of this shape; or, with a code, I cannot take part
  kAnswer,    // server: all are here; the memory comes along, and the processes follow the message
  kAttached,  // rank: I have mapped it; or, with a code, I could not
  kVerdict,   // server: all have it, go; or, with a code, there will be no mesh
  kWithdraw   // rank: I wait no longer
};

inline constexpr std::size_t kMaxTokenBytes = 64;
inline constexpr std::uint64_t kMagic = 0x636d6d206d656574;  // "cmm meet"
inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::uint32_t kByteOrderMark = 0x01020304;
inline constexpr std::int32_t kSuccess = -1;  // else an ErrorCode

struct Message {
  char token[kMaxTokenBytes] = {};  // first, and compared before anything else is looked at
  std::uint64_t magic = kMagic;
  std::uint32_t version = kProtocolVersion;
  std::uint32_t byte_order = kByteOrderMark;
  Kind kind = Kind::kAsk;
  std::int32_t code = kSuccess;
  std::int32_t error_rank = -1;
  std::int32_t rank = -1;
  std::uint64_t nonce = 0;  // of the ask; an answer to an older one is thrown away
  std::int32_t num_ranks = 0;
  std::int32_t axes_ranks = 0;         // product of the axes' sizes
  std::uint64_t axes_fingerprint = 0;  // of names and sizes
  Process process;
  std::uint64_t pid_namespace = 0;
  std::int64_t region_bytes = 0;  // ask: at most; answer: of this mesh
  std::int64_t deadline_ms = 0;   // what is left of it
  char text[600] = {};            // the axes in words; with a code, the reason
};
static_assert(sizeof(Message) == 760 && std::is_trivially_copyable_v<Message>,
              "a change of the layout needs another protocol version");

inline void set_text(Message& message, std::string_view text) {
  const std::size_t bytes = std::min(text.size(), sizeof message.text - 1);
  std::memcpy(message.text, text.data(), bytes);
  message.text[bytes] = '\0';
}
inline std::string text_of(const Message& message) {
  return {message.text, strnlen(message.text, sizeof message.text)};
}

// A failure as all ranks report it.
struct Failure {
  ErrorCode code = ErrorCode::kPeerFailed;
  int rank = -1;
  std::string text;
};
inline void set_failure(Message& message, const Failure& failure) {
  message.code = static_cast<std::int32_t>(failure.code);
  message.error_rank = failure.rank;
  set_text(message, failure.text);
}
inline Failure failure_of(const Message& message) {
  const bool known = message.code >= 0 && message.code <= static_cast<std::int32_t>(ErrorCode::kIo);
  return {known ? static_cast<ErrorCode>(message.code) : ErrorCode::kPeerFailed, message.error_rank,
          text_of(message)};
}

}  // namespace cmm::transport::shm
