// What the ranks of a group that can read each other's memory keep there. Plain data, valid when
// zeroed, the same in every process.
//
// Every word is written by one rank alone, but for `failed_by` and the doorbells. Counters only
// grow. Nothing that a peer wrote is used as a size, an index or an address before it is compared
// with what this rank knows.
#pragma once

#include <atomic>
#include <cstdint>

namespace cmm::transport::memory {

inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kTextBytes = 4000;    // of an exchange, in one round
inline constexpr std::size_t kReasonBytes = 1200;  // longer reasons are cut

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free && std::atomic<std::int32_t>::is_always_lock_free,
              "processes share these words; a lock would be one process's own");

// Why a rank failed; written before failed_by names the rank.
struct Cause {
  std::int32_t code;
  std::int32_t rank;  // at fault, on the axis; -1: none
  char text[kReasonBytes];
};

struct alignas(kCacheLineBytes) Member {
  // What the rank does: the number of the operation on the axis, shifted left by kKindBits, and
  // its kind, see kFirstCall.
  Counter operation;
  std::atomic<std::uint32_t> reading;  // it may be reading its peers' memory
  std::atomic<std::uint32_t> left;     // it makes no more calls, for left_reason
  // Peers that have something new for a sleeping rank add to its doorbell and wake it.
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> doorbell;
  std::atomic<std::uint32_t> asleep;
  // The rank on the axis that it waits for, plus 1; 0: it does not wait, or only began to. The
  // count grows while it waits, so that a frozen rank is told from one that is held up by another.
  std::atomic<std::int32_t> waits_for;
  std::atomic<std::uint32_t> num_dozes;
  // Rounds of exchanges whose text stands below, and rounds whose every text this rank has read.
  alignas(kCacheLineBytes) Counter written;
  Counter read;
  std::uint64_t total_bytes;  // of the whole text, of which this round holds a part
  std::uint64_t exchange;     // `operation` as it was when the text was written
  char text[kTextBytes];
  char left_reason[kReasonBytes];
  Cause cause;
};

inline constexpr int kKindBits = 24;

// The head of a group's memory; Members follow, one per rank.
struct alignas(kCacheLineBytes) Control {
  std::atomic<std::int32_t> failed_by;  // 1 + the first rank that failed; 0: the group is alive
};

constexpr std::int64_t control_bytes(int num_ranks) {
  return static_cast<std::int64_t>(sizeof(Control) +
                                   sizeof(Member) * static_cast<std::size_t>(num_ranks));
}

// One chunk that a rank offers, on a line of its own. The fields but `offered` are valid while it
// is offered and not yet released by all.
struct alignas(kCacheLineBytes) Offer {
  Counter offered;  // number of the last call it was offered in
  std::int64_t address;
  std::int64_t num_rows;
  std::int64_t row_bytes;
  std::int64_t stride_bytes;
};

// One chunk that a rank takes from a peer: the number of the last call it has released it in.
struct alignas(kCacheLineBytes) Release {
  Counter released;
};

// A rank's part of what the ranks of one plan share, in memory of that rank: the head, then
// Offer[num_chunks], then Release[num_chunks].
struct alignas(kCacheLineBytes) Board {
  std::uint64_t call;  // the header of its call, written before its first offer, which publishes it
  std::int64_t m;
  std::int64_t operation;
};

constexpr std::int64_t board_bytes(int num_chunks) {
  return static_cast<std::int64_t>(sizeof(Board) + (sizeof(Offer) + sizeof(Release)) *
                                                       static_cast<std::size_t>(num_chunks));
}

}  // namespace cmm::transport::memory
