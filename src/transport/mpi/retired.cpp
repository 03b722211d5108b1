#include "transport/mpi/retired.hpp"

#include <algorithm>
#include <charconv>
#include <new>

#include "base/text.hpp"

namespace cmm::transport::mpi {
namespace {

// Never destroyed, as calls_mutex().
std::vector<std::shared_ptr<Mailbox>>& retired() {
  static auto* const list = new std::vector<std::shared_ptr<Mailbox>>;
  return *list;
}

}  // namespace

void retire(std::shared_ptr<Mailbox> mailbox) noexcept {
  try {
    const CallsLock lock(calls_mutex());
    retired().push_back(std::move(mailbox));
  } catch (const std::bad_alloc&) {
    // Then it goes at once, and its communicator is never freed.
  }
  clear_retired();
}

void clear_retired() noexcept {
  std::vector<std::shared_ptr<Mailbox>> done;  // declared first: they take the lock themselves
  const CallsLock lock(calls_mutex());
  if (!running()) return;
  auto& list = retired();
  const auto finished = std::partition(list.begin(), list.end(),
                                       [](const auto& mailbox) { return !mailbox->finish(); });
  try {
    done.assign(std::make_move_iterator(finished), std::make_move_iterator(list.end()));
    list.erase(finished, list.end());
  } catch (const std::bad_alloc&) {
    // Next time.
  }
}

}  // namespace cmm::transport::mpi
