// Programs whose order is right in a way that is not plain to see, and the same with one thing
// wrong: no false alarm on the first, a fault in the second.
#include <functional>

#include "tpu/interpret/ring_programs.hpp"

namespace cmm::tpu {
namespace {

struct Tried {
  int num_faults = 0;
  std::string text;  // of the last
};

// In all modes, each device late, one call and two, many seeds.
Tried try_all(const Program& program, int num_seeds = 10) {
  EXPECT_EQ(check_program(program, v6e()), "");
  const auto inputs = numbered_inputs(program);
  Tried tried;
  for (const CopyMode copies : kCopyModes) {
    for (int late = -1; late < program.num_devices; ++late) {
      for (const int num_calls : {1, 2}) {
        for (int seed = 0; seed < num_seeds; ++seed) {
          const RunResult result = run(program, v6e(), inputs,
                                       {.seed = static_cast<std::uint64_t>(seed),
                                        .copies = copies,
                                        .late_device = late,
                                        .num_calls = num_calls});
          if (!result.fault) continue;
          ++tried.num_faults;
          tried.text = fault_text(result);
        }
      }
    }
  }
  return tried;
}

void expect_right(const Program& program) {
  const Tried tried = try_all(program);
  EXPECT_EQ(tried.num_faults, 0) << tried.text;
}
void expect_wrong(const Program& program) { EXPECT_GT(try_all(program).num_faults, 0); }

// A chain: each device sends ten pieces to the next through two slots there, which frees a slot by
// a credit when it has copied the piece out. The sender runs ahead of what it waits for: with two
// credits at hand it takes one, and the first is known to have been given because whoever gives
// the second has given the first.
Program chain_with_credits(int num_devices, int num_first_credits) {
  constexpr int kPieces = 10;
  Writer w(num_devices);
  const int x = w.hbm_input({8 * kPieces, 128}), out = w.hbm_output({8 * kPieces, 128});
  const int slots = w.vmem({2, 8, 128}), barrier = w.barrier(), credit = w.regular("credit");
  const int gone = w.dma("gone"), come = w.dma("come", {2}), stored = w.dma("stored");
  const Scalar me = w.device_id(), zero = w.c(0), one = w.c(1), last = w.c(num_devices - 1);
  for (int device = 0; device < num_devices; ++device) w.signal_to(barrier, w.c(device));
  w.await_count(barrier, num_devices);
  const auto slot = [&](Scalar piece) {
    return Slice{slots, {w.rem(piece, w.c(2)), zero, zero}, {1, 8, 128}, 1};
  };
  const auto rows = [&](int buffer, Scalar piece) {
    return w.rows(buffer, w.mul(piece, w.c(8)), 8);
  };
  const Scalar sends = w.less(me, last), receives = w.less(zero, me);
  w.loop(zero, w.c(kPieces), [&](Scalar piece) {
    const Scalar side = w.rem(piece, w.c(2));
    w.when(sends, [&] {
      w.when(w.at_least(piece, w.c(num_first_credits)), [&] { w.await_count(credit, 1); });
      w.send(rows(x, piece), slot(piece), w.add(me, one), {gone, {}}, {come, {side}});
      w.await_departure(rows(x, piece), {gone, {}});
    });
    w.when(receives, [&] {
      w.await_arrival(slot(piece), {come, {side}});
      w.copy(slot(piece), rows(out, piece), stored);
      const Scalar more = w.less(w.add(piece, w.c(num_first_credits)), w.c(kPieces));
      w.when(more, [&] { w.signal_to(credit, w.sub(me, one)); });
    });
  });
  return w.finish();
}
TEST(Credits, LetASenderRunAhead) { expect_right(chain_with_credits(3, 2)); }
TEST(Credits, MayBeFewerThanSlots) { expect_right(chain_with_credits(3, 1)); }
TEST(Credits, OneMoreThanSlotsIsFound) { expect_wrong(chain_with_credits(3, 3)); }

// Double buffering: a block is loaded while the one before is multiplied, both slots share one
// semaphore, and the store of a slot's result is awaited two steps later.
Program double_buffered(bool shared_semaphore, int await_after) {
  constexpr int kSteps = 6;
  Writer w;
  const int x = w.hbm_input({8 * kSteps, 128}), out = w.hbm_output({8 * kSteps, 128});
  const int x_slots = w.vmem({2, 8, 128}), out_slots = w.vmem({2, 8, 128});
  const int loaded = w.dma("loaded", {2}), stored = w.dma("stored", {2});
  const Scalar zero = w.c(0), two = w.c(2), steps = w.c(kSteps);
  const auto slot = [&](int slots, Scalar step) {
    return Slice{slots, {w.rem(step, two), zero, zero}, {1, 8, 128}, 1};
  };
  const auto rows = [&](int buffer, Scalar step) { return w.rows(buffer, w.mul(step, w.c(8)), 8); };
  const auto semaphore = [&](int array, Scalar step) {
    return SemaphoreRef{array, {shared_semaphore ? zero : w.rem(step, two)}};
  };
  const auto load = [&](Scalar step) {
    w.start_local(rows(x, step), slot(x_slots, step), semaphore(loaded, step));
  };
  load(zero);
  w.loop(zero, steps, [&](Scalar step) {
    const Scalar next = w.add(step, w.c(1));
    w.when(w.less(next, steps), [&] { load(next); });
    w.await_local(rows(x, step), slot(x_slots, step), semaphore(loaded, step));
    const Vector value = w.load(slot(x_slots, step));
    w.when(w.at_least(step, w.c(await_after)), [&] {
      const Scalar old = w.sub(step, w.c(await_after));
      w.await_local(slot(out_slots, old), rows(out, old), semaphore(stored, old));
    });
    w.store(value, slot(out_slots, step));
    w.start_local(slot(out_slots, step), rows(out, step), semaphore(stored, step));
  });
  for (int i = kSteps - await_after; i < kSteps; ++i) {
    w.await_local(slot(out_slots, w.c(i)), rows(out, w.c(i)), semaphore(stored, w.c(i)));
  }
  return w.finish();
}
TEST(DoubleBuffering, WithASemaphoreForEachSlot) {
  expect_right(double_buffered(false, 1));
  expect_right(double_buffered(false, 2));
}
// Of two copies in flight on one semaphore none is known to be complete after one wait.
TEST(DoubleBuffering, WithOneSemaphoreIsFound) { expect_wrong(double_buffered(true, 1)); }
TEST(DoubleBuffering, StoresAwaitedTooLateAreFound) { expect_wrong(double_buffered(false, 3)); }

// Device 0 writes to device 2, learns from its own departure nothing of the arrival; device 2 tells
// device 1, which tells device 0, which writes there again.
Program told_by_a_third(bool asks) {
  Writer w(3);
  const int x = w.hbm_input({8, 128}), slot = w.vmem({8, 128}), barrier = w.barrier();
  const int gone = w.dma("gone"), come = w.dma("come"), word = w.regular("word");
  const Scalar me = w.device_id();
  for (int device = 0; device < 3; ++device) w.signal_to(barrier, w.c(device));
  w.await_count(barrier, 3);
  const auto send = [&] {
    w.send(w.whole(x), w.whole(slot), w.c(2), {gone, {}}, {come, {}});
    w.await_departure(w.whole(x), {gone, {}});
  };
  w.when(w.equal(me, w.c(0)), [&] {
    send();
    if (asks) w.await_count(word, 1);
    send();
    if (!asks) w.await_count(word, 1);
  });
  w.when(w.equal(me, w.c(1)), [&] {
    w.await_count(word, 1);
    w.signal_to(word, w.c(0));
  });
  w.when(w.equal(me, w.c(2)), [&] {
    w.await_arrival(w.whole(slot), {come, {}});
    w.load(w.whole(slot));
    w.signal_to(word, w.c(1));
    w.await_arrival(w.whole(slot), {come, {}});
  });
  return w.finish();
}
TEST(Knowledge, IsPassedOn) { expect_right(told_by_a_third(true)); }
TEST(Knowledge, ThatIsNotAskedForIsMissed) { expect_wrong(told_by_a_third(false)); }

// Four halves over two semaphores, both directions, as a two-way ring has them.
TEST(TwoWays, BothHalvesOfBothDirections) {
  for (const int num_devices : {1, 2, 3, 4}) {
    Writer w(num_devices);
    const int x = w.hbm_input({16, 128}), out = w.hbm_output({2, 16, 128});
    const int gone = w.dma("gone"), come = w.dma("come");
    const RingNeighbours neighbours = ring_neighbours(w);
    write_barrier(w, neighbours, {});
    const Scalar zero = w.c(0);
    const auto half = [&](int side) { return w.rows(x, w.c(8 * side), 8); };
    const auto target = [&](int from, int side) {
      return Slice{out, {w.c(from), w.c(8 * side), zero}, {1, 8, 128}, 1};
    };
    for (const int side : {0, 1}) {
      w.send(half(side), target(0, side), neighbours.next, {gone, {}}, {come, {}});
      w.send(half(side), target(1, side), neighbours.previous, {gone, {}}, {come, {}});
    }
    for (int i = 0; i < 4; ++i) {
      w.await_departure(half(0), {gone, {}});
      w.await_arrival(target(0, 0), {come, {}});
    }
    expect_right(w.finish());
  }
}

}  // namespace
}  // namespace cmm::tpu
