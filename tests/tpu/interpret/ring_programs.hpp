// A ring all-gather as a program, right or with one thing wrong.
#pragma once

#include "tpu/interpret/small_programs.hpp"

namespace cmm::tpu {

struct RingFlaws {
  bool no_barrier = false;
  bool one_round = false;   // of the barrier
  bool no_arrival = false;  // what comes is passed on before it is there
  bool no_departure = false;
};

// out [P * 8, 128]: everybody's x [8, 128], passed on from neighbour to neighbour in place. Each
// hop has its own semaphores. The barrier is that of two neighbours, in two rounds.
inline Program ring_all_gather(int num_devices, const RingFlaws& flaws = {}) {
  Writer w(num_devices);
  const std::int64_t P = num_devices;
  const int x = w.hbm_input({8, 128}), out = w.hbm_output({P * 8, 128});
  const int own = w.dma("own"), come = w.dma("come", {P}), gone = w.dma("gone", {P});
  const Scalar size = w.c(P), me = w.device_id();
  const Scalar next = w.rem(w.add(me, w.c(1)), size);
  const Scalar previous = w.rem(w.add(me, w.c(P - 1)), size);
  if (!flaws.no_barrier) {
    const auto round = [&](int semaphore) {
      w.signal_to(semaphore, next);
      w.signal_to(semaphore, previous);
      w.await_count(semaphore, 2);
    };
    w.note("first round", [&] { round(w.barrier()); });
    if (!flaws.one_round) w.note("second round", [&] { round(w.regular("second")); });
  }
  const auto shard = [&](Scalar hop) {  // has made `hop` hops to get here
    const Scalar from = w.rem(w.sub(w.add(me, size), hop), size);
    return w.rows(out, w.mul(from, w.c(8)), 8);
  };
  w.copy(w.whole(x), shard(w.c(0)), own);
  w.loop(w.c(0), w.c(P - 1), [&](Scalar hop) {
    const Scalar arriving = w.add(hop, w.c(1));
    w.note("pass on", [&] { w.send(shard(hop), shard(hop), next, {gone, {hop}}, {come, {hop}}); });
    if (!flaws.no_arrival) {
      w.note("from before", [&] { w.await_arrival(shard(arriving), {come, {hop}}); });
    }
    if (!flaws.no_departure) w.await_departure(shard(hop), {gone, {hop}});
  });
  return w.finish();
}

}  // namespace cmm::tpu
