// Accesses without order, each by a program as small as can be: what is said about them, and what
// they do to the data.
#include "tpu/interpret/expect_fault.hpp"

namespace cmm::tpu {
namespace {

// Order is asked for, not luck: whatever the mode, and whether or not the data is right.
TEST(Races, ALoadBeforeTheWaitForItsCopy) {
  Writer w;
  const int x = w.hbm_input({8, 128}), slot = w.vmem({8, 128}), come = w.dma("come");
  w.start_local(w.whole(x), w.whole(slot), {come, {}});
  w.note("too early", [&] { w.load(w.whole(slot)); });
  w.await_local(w.whole(x), w.whole(slot), {come, {}});
  const Program program = w.finish();
  for (const CopyMode copies : kCopyModes) {
    const RunResult result = run(program, v6e(), numbered_inputs(program), {.copies = copies});
    expect_fault(result, Fault::Kind::kRace, "load slot[0 : +8, 0 : +128] (too early)");
    EXPECT_PRED2(contains, result.fault->text, "device 0: copy x[0 : +8, 0 : +128] -> slot");
    EXPECT_EQ(result.fault->device, 0);
  }
}

// Without the race check the same program must show wrong data where nothing moves early.
TEST(Poison, ShowsWhereNothingHasBeenWritten) {
  Writer w;
  const int x = w.hbm_input({8, 128}), out = w.hbm_output({8, 128}), slot = w.vmem({8, 128});
  const int result_slot = w.vmem({8, 128}), come = w.dma("come"), stored = w.dma("stored");
  w.start_local(w.whole(x), w.whole(slot), {come, {}});
  w.store(w.load(w.whole(slot)), w.whole(result_slot));
  w.await_local(w.whole(x), w.whole(slot), {come, {}});
  w.copy(w.whole(result_slot), w.whole(out), stored);
  const Program program = w.finish();
  const RunResult result = run(program, v6e(), numbered_inputs(program),
                               {.copies = CopyMode::kAtAwait, .check_races = false});
  ASSERT_FALSE(result.fault) << fault_text(result);
  for (const float value : values_of<float>(result.outputs[0][0])) EXPECT_TRUE(value != value);
}

TEST(Poison, IsTheLargestIntegerForIntegersAndFreshInEveryCall) {
  Writer w;
  w.hbm_output({32, 128}, Element::kS8);
  const int words = w.hbm_output({8, 128}, Element::kS32);
  const int slot = w.vmem({8, 128}, Element::kS32), seen = w.dma("seen");
  w.copy(w.whole(slot), w.whole(words), seen);
  w.store(w.zero({Element::kS32, {8, 128}}), w.whole(slot));  // gone in the next call
  const Program program = w.finish();
  const RunResult result = run(program, v6e(), numbered_inputs(program), {.num_calls = 2});
  ASSERT_FALSE(result.fault) << fault_text(result);
  for (const std::int8_t value : values_of<std::int8_t>(result.outputs[0][0])) {
    EXPECT_EQ(value, 127);
  }
  for (const std::int32_t value : values_of<std::int32_t>(result.outputs[0][1])) {
    EXPECT_EQ(value, 0x7fffffff);
  }
}

// The bytes of either copy can satisfy the first wait.
TEST(Races, TwoCopiesOnOneSemaphoreAndOneWait) {
  Writer w;
  const int x = w.hbm_input({16, 128}), slot = w.vmem({16, 128}), come = w.dma("come");
  const auto half = [&](int buffer, int i) { return w.rows(buffer, w.c(8 * i), 8); };
  for (const int i : {0, 1}) w.start_local(half(x, i), half(slot, i), {come, {}});
  w.await_local(half(x, 0), half(slot, 0), {come, {}});
  w.load(half(slot, 0));
  w.await_local(half(x, 1), half(slot, 1), {come, {}});
  w.load(half(slot, 1));
  const Program program = w.finish();
  for (const CopyMode copies : kCopyModes) {
    expect_fault(run(program, v6e(), numbered_inputs(program), {.copies = copies}),
                 Fault::Kind::kRace, "load slot[0 : +8, 0 : +128]");
  }
}
TEST(Races, NoneAfterBothWaits) {
  Writer w;
  const int x = w.hbm_input({16, 128}), slot = w.vmem({16, 128}), come = w.dma("come");
  const auto half = [&](int buffer, int i) { return w.rows(buffer, w.c(8 * i), 8); };
  for (const int i : {0, 1}) w.start_local(half(x, i), half(slot, i), {come, {}});
  for (const int i : {0, 1}) w.await_local(half(x, i), half(slot, i), {come, {}});
  for (const int i : {0, 1}) w.load(half(slot, i));
  const Program program = w.finish();
  for (const CopyMode copies : kCopyModes) {
    const RunResult result = run_seeds(program, {.copies = copies});
    EXPECT_FALSE(result.fault) << fault_text(result);
  }
}
// What the race check says is what happens: some order of pieces brings the second half first.
TEST(Poison, ShowsUnderTwoCopiesOnOneSemaphore) {
  Writer w;
  const int x = w.hbm_input({16, 128}), slot = w.vmem({16, 128}), come = w.dma("come");
  const int kept = w.vmem({8, 128}), out = w.hbm_output({8, 128}), stored = w.dma("stored");
  const auto half = [&](int buffer, int i) { return w.rows(buffer, w.c(8 * i), 8); };
  for (const int i : {0, 1}) w.start_local(half(x, i), half(slot, i), {come, {}});
  w.await_local(half(x, 0), half(slot, 0), {come, {}});
  w.store(w.load(half(slot, 0)), w.whole(kept));
  w.await_local(half(x, 1), half(slot, 1), {come, {}});
  w.copy(w.whole(kept), w.whole(out), stored);
  const Program program = w.finish();
  int num_wrong = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RunResult result =
        run(program, v6e(), numbered_inputs(program), {.seed = seed, .check_races = false});
    ASSERT_FALSE(result.fault) << fault_text(result);
    for (const float value : values_of<float>(result.outputs[0][0])) {
      if (value != value) {
        ++num_wrong;
        break;
      }
    }
  }
  EXPECT_GT(num_wrong, 20);
  EXPECT_LT(num_wrong, 100);
}

// The latest copy moves first where nothing moves before it is awaited.
TEST(Poison, ShowsTheFirstOfTwoCopiesWhenOneIsAwaited) {
  for (const int which : {0, 1}) {
    Writer w;
    const int x = w.hbm_input({16, 128}), slot = w.vmem({16, 128}), come = w.dma("come");
    const int kept = w.vmem({8, 128}), out = w.hbm_output({8, 128}), stored = w.dma("stored");
    const auto half = [&](int buffer, int i) { return w.rows(buffer, w.c(8 * i), 8); };
    for (const int i : {0, 1}) w.start_local(half(x, i), half(slot, i), {come, {}});
    w.await_local(half(x, 0), half(slot, 0), {come, {}});
    w.store(w.load(half(slot, which)), w.whole(kept));
    w.await_local(half(x, 1), half(slot, 1), {come, {}});
    w.copy(w.whole(kept), w.whole(out), stored);
    const Program program = w.finish();
    const RunResult result = run(program, v6e(), numbered_inputs(program),
                                 {.copies = CopyMode::kAtAwait, .check_races = false});
    ASSERT_FALSE(result.fault) << fault_text(result);
    const float first = values_of<float>(result.outputs[0][0]).front();
    EXPECT_EQ(first != first, which == 0);
  }
}

// Of a copy of which half the bytes have come, either end may be there.
TEST(Poison, ShowsAtEitherEndOfACopy) {
  Writer w;
  const int x = w.hbm_input({16, 128}), slot = w.vmem({16, 128}), come = w.dma("come");
  const int kept = w.vmem({16, 128}), out = w.hbm_output({16, 128}), stored = w.dma("stored");
  w.start_local(w.whole(x), w.whole(slot), {come, {}});
  w.await_local(w.rows(x, w.c(0), 8), w.rows(slot, w.c(0), 8), {come, {}});
  w.store(w.load(w.whole(slot)), w.whole(kept));
  w.await_local(w.rows(x, w.c(0), 8), w.rows(slot, w.c(0), 8), {come, {}});
  w.copy(w.whole(kept), w.whole(out), stored);
  const Program program = w.finish();
  int num_first_missing = 0, num_last_missing = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RunResult result =
        run(program, v6e(), numbered_inputs(program), {.seed = seed, .check_races = false});
    ASSERT_FALSE(result.fault) << fault_text(result);
    const std::vector<float> values = values_of<float>(result.outputs[0][0]);
    const bool first = values.front() == values.front(), last = values.back() == values.back();
    EXPECT_TRUE(first || last);
    num_first_missing += first ? 0 : 1;
    num_last_missing += last ? 0 : 1;
  }
  EXPECT_GT(num_first_missing, 10);
  EXPECT_GT(num_last_missing, 10);
}

// What a device does after it has told somebody is not part of what it has told: device 0 tells by
// a signal, or by a copy, and only then uses the slot that device 1 writes to.
TEST(Races, AUseAfterTheTelling) {
  for (const bool by_copy : {false, true}) {
    for (const bool uses_before : {true, false}) {
      Writer w(2);
      const int x = w.hbm_input({8, 128}), slot = w.vmem({8, 128}), told = w.vmem({8, 128});
      const int gone = w.dma("gone"), come = w.dma("come"), free = w.regular("free");
      const int barrier = w.barrier();
      const Scalar zero = w.c(0), one = w.c(1);
      for (const int device : {0, 1}) w.signal_to(barrier, w.c(device));
      w.await_count(barrier, 2);
      w.when(w.equal(w.device_id(), zero), [&] {
        if (uses_before) w.load(w.whole(slot));
        if (by_copy) {
          w.send(w.whole(x), w.whole(told), one, {gone, {}}, {come, {}});
        } else {
          w.signal_to(free, one);
        }
        if (!uses_before) w.load(w.whole(slot));
        if (by_copy) w.await_departure(w.whole(x), {gone, {}});
        w.await_arrival(w.whole(slot), {come, {}});
      });
      w.when(w.equal(w.device_id(), one), [&] {
        if (by_copy) {
          w.await_arrival(w.whole(told), {come, {}});
        } else {
          w.await_count(free, 1);
        }
        w.send(w.whole(x), w.whole(slot), zero, {gone, {}}, {come, {}});
        w.await_departure(w.whole(x), {gone, {}});
      });
      // With device 1 late the use comes first, and only the clocks tell.
      const Program program = w.finish();
      for (const int late : {-1, 0, 1}) {
        const RunResult result = run_seeds(program, {.late_device = late}, 20);
        if (uses_before) {
          EXPECT_FALSE(result.fault) << fault_text(result);
        } else {
          expect_fault(result, Fault::Kind::kRace, "slot");
        }
      }
    }
  }
}

// However many accesses there have been: what another device may not know of is kept.
TEST(Races, WithOneOfManyAccesses) {
  Writer w(2);
  const int x = w.hbm_input({8, 128}), slot = w.vmem({320, 128});
  const int gone = w.dma("gone"), come = w.dma("come"), barrier = w.barrier();
  const Scalar zero = w.c(0), one = w.c(1);
  for (const int device : {0, 1}) w.signal_to(barrier, w.c(device));
  w.await_count(barrier, 2);
  w.when(w.equal(w.device_id(), zero), [&] {
    w.loop(zero, w.c(40), [&](Scalar i) { w.load(w.rows(slot, w.mul(i, w.c(8)), 8)); });
    w.await_arrival(w.rows(slot, zero, 8), {come, {}});
  });
  w.when(w.equal(w.device_id(), one), [&] {
    w.send(w.whole(x), w.rows(slot, w.c(8), 8), zero, {gone, {}}, {come, {}});
    w.await_departure(w.whole(x), {gone, {}});
  });
  const Program program = w.finish();
  for (const int late : {0, 1}) {
    expect_fault(run_seeds(program, {.late_device = late}, 1), Fault::Kind::kRace, "slot[8 : +8");
  }
}

TEST(Races, ASourceOverwrittenBeforeItHasLeft) {
  for (const bool waits : {true, false}) {
    Writer w;
    const int slot = w.vmem({8, 128}), out = w.hbm_output({8, 128}), stored = w.dma("stored");
    const Vector zero = w.zero({Element::kF32, {8, 128}});
    w.store(zero, w.whole(slot));
    w.start_local(w.whole(slot), w.whole(out), {stored, {}});
    if (waits) w.await_local(w.whole(slot), w.whole(out), {stored, {}});
    w.store(zero, w.whole(slot));
    if (!waits) w.await_local(w.whole(slot), w.whole(out), {stored, {}});
    const Program program = w.finish();
    for (const CopyMode copies : kCopyModes) {
      const RunResult result = run(program, v6e(), numbered_inputs(program), {.copies = copies});
      if (waits) {
        EXPECT_FALSE(result.fault) << fault_text(result);
      } else {
        expect_fault(result, Fault::Kind::kRace, "store v0 -> slot");
        EXPECT_PRED2(contains, result.fault->text, "is a copy that reads slot");
      }
    }
  }
}

// A departure says nothing of the target, but an arrival says that the source has been read.
TEST(Races, AnArrivalImpliesADeparture) {
  for (const bool told : {true, false}) {
    Writer w(2);
    const int x = w.hbm_input({8, 128}), slot = w.vmem({8, 128}), target = w.vmem({8, 128});
    const int load = w.dma("load"), gone = w.dma("gone"), come = w.dma("come");
    const int barrier = w.barrier(), thanks = w.regular("thanks");
    const Scalar other = w.sub(w.c(1), w.device_id());
    w.signal_to(barrier, other);
    w.await_count(barrier, 1);
    w.copy(w.whole(x), w.whole(slot), load);
    w.send(w.whole(slot), w.whole(target), other, {gone, {}}, {come, {}});
    w.await_arrival(w.whole(target), {come, {}});
    w.signal_to(thanks, other);
    if (told) w.await_count(thanks, 1);
    w.store(w.zero({Element::kF32, {8, 128}}), w.whole(slot));
    if (!told) w.await_count(thanks, 1);
    w.await_departure(w.whole(slot), {gone, {}});
    const RunResult result = run_seeds(w.finish(), {});
    if (told) {
      EXPECT_FALSE(result.fault) << fault_text(result);
    } else {
      expect_fault(result, Fault::Kind::kRace, "store v0 -> slot");
    }
  }
}

TEST(TwoWriters, OfOneElementWithoutOrder) {
  Writer w;
  const int x = w.hbm_input({16, 128}), out = w.hbm_output({16, 128}), come = w.dma("come", {2});
  const Scalar first = w.c(0), second = w.c(1);
  w.start_local(w.rows(x, w.c(0), 16), w.rows(out, w.c(0), 16), {come, {first}});
  w.start_local(w.rows(x, w.c(0), 8), w.rows(out, w.c(8), 8), {come, {second}});
  w.await_local(w.rows(x, w.c(0), 16), w.rows(out, w.c(0), 16), {come, {first}});
  w.await_local(w.rows(x, w.c(0), 8), w.rows(out, w.c(8), 8), {come, {second}});
  expect_fault(run_seeds(w.finish(), {}), Fault::Kind::kTwoWriters, "out[8 : +8, 0 : +128]");
}

TEST(TwoWriters, OnTwoDevices) {
  Writer w(3);
  const int x = w.hbm_input({8, 128}), out = w.hbm_output({8, 128});
  const int gone = w.dma("gone"), come = w.dma("come", {3}), barrier = w.barrier();
  const Scalar me = w.device_id(), zero = w.c(0);
  for (const int peer : {0, 1, 2}) w.signal_to(barrier, w.c(peer));
  w.await_count(barrier, 3);
  w.when(w.op(ScalarOp::kNe, me, zero), [&] {
    w.send(w.whole(x), w.whole(out), zero, {gone, {}}, {come, {me}});
    w.await_departure(w.whole(x), {gone, {}});
  });
  w.when(w.equal(me, zero), [&] {
    for (const int peer : {1, 2}) w.await_arrival(w.whole(out), {come, {w.c(peer)}});
  });
  expect_fault(run_seeds(w.finish(), {}, 1), Fault::Kind::kTwoWriters, "on device 0");
}

}  // namespace
}  // namespace cmm::tpu
