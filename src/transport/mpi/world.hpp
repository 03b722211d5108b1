// The ranks of one mesh as MPI sees them: a communicator of our own, and how its tags are shared
// out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "transport/mpi/calls.hpp"
#include "transport/mpi/helper.hpp"

namespace cmm::transport::mpi {

// Of one message. Over TCP, Open MPI sends up to 64 KiB, its header included, at once and in order.
// What is longer it sends after a handshake, which waits behind what goes the other way, and then
// side by side with all other messages: chunks of 512 KiB all arrived at the end of a transfer, and
// what should have hidden behind it (34 ms, 1 Gbit/s) came after it: 43 ms in all instead of 37. It
// is also far from what MPI's int can count.
inline constexpr std::int64_t kMaxMessageBytes = 60'000;

class World {
 public:
  struct Config {
    MPI_Comm comm = MPI_COMM_NULL;  // the user's; duplicated
    int num_axes = 1;
    std::int64_t max_message_bytes = kMaxMessageBytes;
    bool with_helper = false;
  };
  // Collective over the communicator. Throws Error(kDeadline) where not all ranks come; the next
  // attempt with the same communicator then goes on waiting for them.
  World(const Config& config, const Deadline& deadline);
  // Takes the lock itself. The communicator waits for free_communicators(), where every message on
  // it has been taken; otherwise it is never freed, since MPI might give its number to another
  // while messages with it are still on the way.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  const ThreadRule& threads() const { return threads_; }
  std::int64_t max_message_bytes() const { return config_.max_message_bytes; }

  // Tags of axis a: messages on first_tag(a), chunk c on first_tag(a) + 1 + c. Axis -1 is the mesh
  // as a whole.
  int first_tag(int axis) const { return (axis + 1) * tags_per_axis_; }
  int max_chunks() const { return tags_per_axis_ - 1; }
  Helper* helper() const { return helper_.get(); }  // nullptr: there is none

  // What tells this communicator apart from all others of its ranks; alike on every rank.
  void set_identity(std::uint64_t identity) { identity_ = identity; }
  void mark_unclean() { clean_ = false; }

 private:
  Config config_;
  ThreadRule threads_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int num_ranks_ = 1;
  int tags_per_axis_ = 0;
  std::uint64_t identity_ = 0;
  bool clean_ = true;
  std::unique_ptr<Helper> helper_;
};

// Communicators that are out of use here: their identities. A communicator can only be freed by all
// of its ranks together: they tell each other these when they make the next mesh, and free those
// that all have named. Both take the lock themselves.
std::vector<std::uint64_t> unused_communicators(int num_ranks);
void free_communicators(const std::vector<std::vector<std::uint64_t>>& unused_of_all);

// Requests that may never complete, because a peer that died or failed takes part in them, and the
// memory they read or write. Kept until they complete or the process ends: MPI offers no way to
// call back a send.
struct Abandoned {
  std::vector<MPI_Request> requests;
  std::shared_ptr<void> memory;
};
// Lock held.
void abandon(Abandoned&& abandoned) noexcept;
void free_abandoned() noexcept;  // those that have completed
std::size_t num_abandoned();

}  // namespace cmm::transport::mpi
