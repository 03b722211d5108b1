#include "transport/mpi/exchange.hpp"

#include "base/text.hpp"

namespace cmm::transport::mpi {
namespace {

// Whether the peer's text is here. Throws where it will not come.
bool look_for_text(Mailbox& mailbox, int peer) {
  mailbox.poll();
  if (mailbox.text_is_complete(peer)) return true;
  if (mailbox.left(peer)) mailbox.throw_left(peer);
  return false;
}

}  // namespace

std::vector<std::string> exchange(Mailbox& mailbox, const std::string& mine,
                                  const Deadline& deadline, Purpose purpose) {
  History& history = *mailbox.group()->history();
  CallsLock lock(calls_mutex());
  mailbox.poll();
  mailbox.enter_exchange(mine, purpose);
  lock.unlock();
  {
    Wait wait(mailbox);
    for (int peer = 0; peer < mailbox.num_ranks(); ++peer) {
      for (lock.lock(); !look_for_text(mailbox, peer); lock.lock()) {
        history.waiting_for(peer);
        if (wait.expired(deadline)) {
          lock.unlock();
          const int at_fault = mailbox.held_up_by(peer);
          lock.lock();
          mailbox.fail_and_throw(
              Error(ErrorCode::kDeadline,
                    cat("rank ", mailbox.rank(), " waited ", deadline.limit_ms(), " ms for rank ",
                        peer, " to make a plan or exchange a text; ",
                        at_fault == peer ? mailbox.silence_of(peer)
                                         : cat("that one waits, in the end for rank ", at_fault),
                        history.recent(mailbox.rank())),
                    at_fault));
        }
        lock.unlock();
        wait.pause();
      }
      lock.unlock();
    }
  }
  lock.lock();
  std::vector<std::string> texts = mailbox.take_texts();
  lock.unlock();
  // Those of one host meet in their memory too, whose rules for the reuse of blocks count
  // exchanges. Meanwhile this rank goes on to move messages: its texts may not have gone out yet,
  // and some rank of this host may wait for one that waits for them.
  mailbox.group()->exchange("", deadline, purpose, &mailbox);
  return texts;
}

}  // namespace cmm::transport::mpi
