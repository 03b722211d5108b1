// What ranks tell each other beside chunks. All of an axis travel on one tag, so a peer's arrive in
// the order in which it sent them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace cmm::transport::mpi {

enum class MessageKind : std::int32_t {
  kCall = 1,     // this rank has entered a call; its chunks follow on tags of their own
  kText = 2,     // a part of this rank's text of an exchange
  kFailure = 3,  // the axis is dead, for the cause in `text`
  kLeave = 4,    // this rank makes no more calls, for the reason in `text`
  kAsk = 5,      // for whom does the receiver wait?
  kAnswer = 6,   // for rank `culprit`; -1: for none
};

// Plain data. Nothing of it is used before magic, version, byte order, source and length have been
// compared with what this rank knows.
struct MessageHead {
  static constexpr std::uint32_t kMagic = 0x4d4d4331;
  static constexpr std::uint16_t kVersion = 2;
  static constexpr std::uint16_t kByteOrder = 0x0102;

  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t byte_order = kByteOrder;
  std::int32_t source = -1;  // rank on the axis
  MessageKind kind = MessageKind::kText;
  // What the rank does: the number of the operation on the axis, and its kind, see kFirstCall. A
  // call has a header.
  std::uint64_t operation = 0;
  std::uint64_t which = 0;
  CallHeader header = {};
  std::int32_t code = 0;      // of a failure
  std::int32_t culprit = -1;  // rank at fault; -1: none
  // Of an exchange: bytes of the whole text. Of a leave: messages with chunks that this rank has
  // sent the peer, which may still be under way when this one arrives. Of a question and its
  // answer: its number.
  std::uint64_t total = 0;
  std::uint64_t text_bytes = 0;  // that follow the head
};

// Small enough to be sent at once, without asking the receiver, by every MPI we know (the smallest
// such limit is the 4 KiB of Open MPI's shared memory).
struct Message {
  static constexpr std::size_t kTextBytes = 2048 - sizeof(MessageHead);
  MessageHead head;
  char text[kTextBytes];
};
static_assert(sizeof(Message) == 2048);

}  // namespace cmm::transport::mpi
