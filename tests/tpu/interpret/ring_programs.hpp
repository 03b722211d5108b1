// Programs of a ring, right or with one thing wrong.
#pragma once

#include "tpu/interpret/small_programs.hpp"

namespace cmm::tpu {

struct RingFlaws {
  bool no_barrier = false;
  bool one_round = false;   // of the barrier
  bool no_arrival = false;  // what comes is passed on before it is there
  bool no_departure = false;
};

struct RingNeighbours {
  Scalar next, previous;
};
inline RingNeighbours ring_neighbours(Writer& w) {
  const int P = w.program().num_devices;
  const Scalar me = w.device_id(), size = w.c(P);
  return {.next = w.rem(w.add(me, w.c(1)), size), .previous = w.rem(w.add(me, w.c(P - 1)), size)};
}

// Both neighbours have entered, in two rounds: the second for the sake of the next call.
inline void write_barrier(Writer& w, const RingNeighbours& neighbours, const RingFlaws& flaws) {
  if (flaws.no_barrier) return;
  const auto round = [&](int semaphore) {
    w.signal_to(semaphore, neighbours.next);
    w.signal_to(semaphore, neighbours.previous);
    w.await_count(semaphore, 2);
  };
  w.note("first round", [&] { round(w.barrier()); });
  if (!flaws.one_round) w.note("second round", [&] { round(w.regular("second")); });
}

// out [P * 8, 128]: everybody's x [8, 128], passed on from neighbour to neighbour in place. Each
// hop has its own semaphores.
inline Program ring_all_gather(int num_devices, const RingFlaws& flaws = {}) {
  Writer w(num_devices);
  const std::int64_t P = num_devices;
  const int x = w.hbm_input({8, 128}), out = w.hbm_output({P * 8, 128});
  const int own = w.dma("own"), come = w.dma("come", {P}), gone = w.dma("gone", {P});
  const RingNeighbours neighbours = ring_neighbours(w);
  write_barrier(w, neighbours, flaws);
  const auto shard = [&](Scalar hop) {  // has made `hop` hops to get here
    const Scalar from = w.rem(w.sub(w.add(w.device_id(), w.c(P)), hop), w.c(P));
    return w.rows(out, w.mul(from, w.c(8)), 8);
  };
  w.copy(w.whole(x), shard(w.c(0)), own);
  w.loop(w.c(0), w.c(P - 1), [&](Scalar hop) {
    const Scalar arriving = w.add(hop, w.c(1));
    w.note("pass on", [&] {
      w.send(shard(hop), shard(hop), neighbours.next, {gone, {hop}}, {come, {hop}});
    });
    if (!flaws.no_arrival) {
      w.note("from before", [&] { w.await_arrival(shard(arriving), {come, {hop}}); });
    }
    if (!flaws.no_departure) w.await_departure(shard(hop), {gone, {hop}});
  });
  return w.finish();
}

// out [8, 128]: x of the device before. A device that has left knows of its neighbours only, not of
// all devices, as it does after an all-gather.
inline Program ring_shift(int num_devices, const RingFlaws& flaws = {}) {
  Writer w(num_devices);
  const int x = w.hbm_input({8, 128}), out = w.hbm_output({8, 128});
  const int come = w.dma("come"), gone = w.dma("gone");
  const RingNeighbours neighbours = ring_neighbours(w);
  write_barrier(w, neighbours, flaws);
  w.send(w.whole(x), w.whole(out), neighbours.next, {gone, {}}, {come, {}});
  w.await_arrival(w.whole(out), {come, {}});
  w.await_departure(w.whole(x), {gone, {}});
  return w.finish();
}

}  // namespace cmm::tpu
