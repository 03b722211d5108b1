#include "transport/mpi/helper.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::transport::mpi {
namespace {

// As long as a chunk of 256 KiB takes at 40 Gbit/s. A look costs about 1 us.
constexpr std::chrono::microseconds kNap{50};

}  // namespace

Helper::Helper() {
  movers_.reserve(8);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::kOutOfMemory,
                cat("the system gave no thread to move messages: ", error.what()));
  }
}

Helper::~Helper() {
  {
    const CallsLock lock(calls_mutex());
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Helper::add(Mover& mover) {
  if (std::find(movers_.begin(), movers_.end(), &mover) != movers_.end()) return;
  movers_.push_back(&mover);
  changed_.notify_one();
}

void Helper::remove(Mover& mover) noexcept {
  movers_.erase(std::remove(movers_.begin(), movers_.end(), &mover), movers_.end());
}

void Helper::work() {
  CallsLock lock(calls_mutex());
  while (!stop_) {
    if (movers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto idle = [](Mover* mover) { return !mover->move(); };
    movers_.erase(std::remove_if(movers_.begin(), movers_.end(), idle), movers_.end());
    lock.unlock();
    std::this_thread::sleep_for(kNap);
    lock.lock();
  }
}

}  // namespace cmm::transport::mpi
