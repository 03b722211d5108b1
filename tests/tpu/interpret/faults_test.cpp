// The other faults, each by a program as small as can be, and what is said about them.
#include "base/text.hpp"
#include "tpu/interpret/expect_fault.hpp"

namespace cmm::tpu {
namespace {

TEST(Entry, ACopyToADeviceThatNobodyKnowsToHaveEntered) {
  const Program program = ring_all_gather(3, {.no_barrier = true});
  for (const CopyMode copies : kCopyModes) {
    for (int late = -1; late < 3; ++late) {
      const RunResult result = run_seeds(program, {.copies = copies, .late_device = late}, 1);
      ASSERT_TRUE(result.fault);
      EXPECT_EQ(result.fault->kind, Fault::Kind::kRace) << fault_text(result);
      EXPECT_PRED2(contains, result.fault->text, "entered call 0");
    }
  }
}

// With check_races off only what really happens counts: device 0 late has not entered.
TEST(Entry, ACopyToADeviceThatHasNotEntered) {
  const Program program = ring_all_gather(3, {.no_barrier = true});
  const auto run_late = [&](int late) {
    return run(program, v6e(), numbered_inputs(program),
               {.late_device = late, .check_races = false});
  };
  expect_fault(run_late(1), Fault::Kind::kRace, "device 1 has not entered call 0");
  EXPECT_EQ(run_late(1).fault->device, 0);
}

// The second round is there for the next call. Device 2 is late. Device 0 has all it needs: it
// leaves, enters the next call and signals device 1 again, which takes that for device 2's signal
// and sends to it.
TEST(Entry, OneRoundOfTheBarrierIsTooFewForTwoCalls) {
  for (const bool one_round : {true, false}) {
    const Program program = ring_shift(5, {.one_round = one_round});
    for (int late = 0; late < 5; ++late) {
      const RunResult one_call = run_seeds(program, {.late_device = late}, 50);
      EXPECT_FALSE(one_call.fault) << fault_text(one_call);
      const RunResult two_calls = run_seeds(program, {.late_device = late, .num_calls = 2}, 50);
      if (one_round) {
        expect_fault(two_calls, Fault::Kind::kRace, cat("device ", late, " has not entered call"));
      } else {
        EXPECT_FALSE(two_calls.fault) << fault_text(two_calls);
      }
    }
  }
}

TEST(Entry, ASignalToADeviceThatHasLeft) {
  Writer w(2);
  const int word = w.regular("word"), barrier = w.barrier();
  const Scalar other = w.sub(w.c(1), w.device_id());
  w.signal_to(barrier, other);
  w.await_count(barrier, 1);
  w.when(w.equal(w.device_id(), w.c(0)), [&] { w.signal_to(word, other); });
  const RunResult result = run_seeds(w.finish(), {.late_device = 0});
  expect_fault(result, Fault::Kind::kRace, "device 1 has left call 0");
}

TEST(Ring, EveryMissingWaitIsFound) {
  for (const RingFlaws& flaws : {RingFlaws{.no_arrival = true}, RingFlaws{.no_departure = true}}) {
    const Program program = ring_all_gather(4, flaws);
    for (const CopyMode copies : kCopyModes) {
      EXPECT_TRUE(run_seeds(program, {.copies = copies}, 1).fault);
    }
  }
}

TEST(Deadlock, IsToldAsATable) {
  Writer w(3);
  const int come = w.dma("come", {2}), word = w.regular("word"), slot = w.vmem({8, 128});
  const Scalar me = w.device_id(), one = w.c(1);
  w.when(w.equal(me, w.c(0)), [&] {
    w.signal({.semaphore = {word, {}}, .amount = one});
    w.note("both neighbours", [&] { w.await_count(word, 2); });
  });
  w.when(w.equal(me, w.c(2)), [&] {
    w.note("last shard", [&] { w.await_arrival(w.whole(slot), {come, {one}}); });
  });
  const RunResult result = run_seeds(w.finish(), {}, 1);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, Fault::Kind::kDeadlock);
  EXPECT_EQ(result.fault->device, 0);
  EXPECT_EQ(result.fault->text,
            "nobody can go on\n"
            "device  call  semaphore  has  needs  statement\n"
            "0       0     word       1    2      await word >= 2 (both neighbours)\n"
            "1                                    (has left)\n"
            "2       0     come[1]    0    4096   await arrival come[1], bytes of "
            "slot[0 : +8, 0 : +128] (last shard)");
}

TEST(Semaphores, MustBeZeroWhenADeviceLeaves) {
  Writer w(2);
  const int words = w.regular("words", {2, 3});
  w.when(w.equal(w.device_id(), w.c(1)), [&] {
    w.signal({.semaphore = {words, {w.c(1), w.c(2)}}, .amount = w.c(5)});
    w.await({.semaphore = {words, {w.c(1), w.c(2)}}, .amount = w.c(2)});
  });
  const RunResult result = run_seeds(w.finish(), {}, 1);
  expect_fault(result, Fault::Kind::kSemaphoreNotZero, "semaphore words[1, 2] is 3");
  EXPECT_EQ(result.fault->device, 1);
}

TEST(Semaphores, BarriersMustBeZeroWhenAllHaveLeft) {
  Writer w(2);
  const int barrier = w.barrier();
  w.signal_to(barrier, w.sub(w.c(1), w.device_id()), 2);
  w.await_count(barrier, 1);
  expect_fault(run_seeds(w.finish(), {}, 1), Fault::Kind::kSemaphoreNotZero,
               "semaphore barrier of device 0 is 1");
}

TEST(Semaphores, TellOfCopiesInFlight) {
  Writer w;
  const int x = w.hbm_input({8, 128}), slot = w.vmem({8, 128}), come = w.dma("come");
  w.start_local(w.whole(x), w.whole(slot), {come, {}});
  const Program program = w.finish();
  const auto fault = [&](CopyMode copies) {
    return run(program, v6e(), numbered_inputs(program), {.copies = copies});
  };
  expect_fault(fault(CopyMode::kAtAwait), Fault::Kind::kSemaphoreNotZero,
               "come is 0, and a copy in flight adds 4096 bytes");
  expect_fault(fault(CopyMode::kEager), Fault::Kind::kSemaphoreNotZero, "come is 4096");
}

TEST(Bounds, OfOffsetsThatAreNoConstants) {
  for (const int last : {0, 1}) {
    Writer w(3);
    const int slot = w.vmem({8 * (2 + last), 128});
    w.load(w.rows(slot, w.mul(w.device_id(), w.c(8)), 8));
    const RunResult result = run_seeds(w.finish(), {}, 20);
    if (last == 1) {
      EXPECT_FALSE(result.fault) << fault_text(result);
    } else {
      expect_fault(result, Fault::Kind::kOutOfBounds, "slot[16 : +8, 0 : +128] of shape [16, 128]");
      EXPECT_EQ(result.fault->device, 2);
    }
  }
}

TEST(Bounds, OfSemaphoresScalarsAndDevices) {
  {
    Writer w(2);
    const int word = w.regular("word", {1});
    w.signal({.semaphore = {word, {w.device_id()}}, .amount = w.c(1)});
    w.await({.semaphore = {word, {w.c(0)}}, .amount = w.c(1)});
    expect_fault(run_seeds(w.finish(), {}), Fault::Kind::kOutOfBounds, "semaphore word");
  }
  {
    Writer w(2);
    const int barrier = w.barrier();
    w.signal_to(barrier, w.add(w.device_id(), w.c(1)));
    w.await_count(barrier, 1);
    expect_fault(run_seeds(w.finish(), {}), Fault::Kind::kOutOfBounds, "no device 2 of 2");
  }
  {
    Writer w(2);
    const int table = w.buffer({"table", Memory::kSmem, Element::kS32, {1}, Role::kInput});
    w.read(table, {w.device_id()});
    expect_fault(run_seeds(w.finish(), {}), Fault::Kind::kOutOfBounds, "table[1 : +1]");
  }
}

// By the tile of the element and of the generation; not where the check is off.
TEST(Tiles, OffsetsAreMultiplesOfThem) {
  struct Case {
    Element element;
    int generation;
    int rows;
  };
  for (const Case& c :
       {Case{Element::kF32, 6, 8}, Case{Element::kBF16, 6, 8}, Case{Element::kBF16, 7, 16},
        Case{Element::kS8, 5, 32}, Case{Element::kF8E4M3, 7, 32}}) {
    for (const bool aligned : {true, false}) {
      Writer w(2);
      const int slot = w.vmem({128, 128}, c.element);
      w.load(w.rows(slot, w.mul(w.device_id(), w.c(aligned ? c.rows : c.rows / 2)), 32));
      const Program program = w.finish();
      Chip chip = v6e();
      chip.generation = c.generation;
      const auto with = [&](bool check) {
        return run(program, chip, numbered_inputs(program), {.check_tiles = check});
      };
      EXPECT_FALSE(with(false).fault);
      if (aligned) {
        EXPECT_FALSE(with(true).fault) << fault_text(with(true));
      } else {
        expect_fault(with(true), Fault::Kind::kMisaligned, "is no multiple of");
      }
    }
  }
}

TEST(Steps, HaveABound) {
  Writer w;
  w.loop(w.c(0), w.c(0x7fffffff), [&](Scalar) { w.debug_print("again", {}); });
  expect_fault(run_seeds(w.finish(), {.max_steps = 1000}, 1), Fault::Kind::kNoEnd,
               "no end after 1000 statements");
}

TEST(Scalars, ThatAreNotDefinedAreFaults) {
  Writer w(2);
  w.debug_print("{}", {w.div(w.c(1), w.device_id())});
  expect_fault(run_seeds(w.finish(), {}, 1), Fault::Kind::kInvalid, "division by zero");
}

}  // namespace
}  // namespace cmm::tpu
