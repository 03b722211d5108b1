// A thread that moves messages while the rank's own threads multiply, or are outside of the
// library. It sleeps between two looks, and entirely while no call is under way.
#pragma once

#include <condition_variable>
#include <thread>
#include <vector>

#include "transport/mpi/calls.hpp"

namespace cmm::transport::mpi {

// What has messages to move. With the lock held.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual bool move() noexcept = 0;  // false: none any more, until it is added again
};

class Helper {
 public:
  Helper();
  ~Helper();  // without the lock
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // With the lock held. The caller removes what it added before that is gone.
  void add(Mover& mover);
  void remove(Mover& mover) noexcept;

 private:
  void work();

  std::vector<Mover*> movers_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace cmm::transport::mpi
