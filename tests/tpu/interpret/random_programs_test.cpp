// Random programs: where no run finds a fault, all runs must agree in every bit. This is what the
// race check is for, so it needs no second opinion on what a race is.
#include <functional>
#include <set>

#include "tpu/interpret/random.hpp"
#include "tpu/interpret/small_programs.hpp"

namespace cmm::tpu {
namespace {

constexpr int kSlots = 3;
constexpr int kSemaphores = 3;  // of each kind; few, so that copies and signals share them

// Actions in one order that is possible for all devices together, so that nothing deadlocks: each
// wait stands somewhere after what it waits for. Too late or too early for the data: that is left
// to chance.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed), w_(2 + pick(2)) {
    const int P = w_.program().num_devices;
    x_ = w_.hbm_input({kSlots, 2, 2});
    out_ = w_.hbm_output({kSlots, 2, 2});
    slots_ = w_.vmem({kSlots, 2, 2});
    const int barrier = w_.barrier(), edge = w_.dma("edge");
    dma_ = w_.dma("dma", {kSemaphores});
    words_ = w_.regular("word", {kSemaphores});
    w_.copy(w_.whole(x_), w_.whole(slots_), edge);
    for (int device = 0; device < P; ++device) w_.signal_to(barrier, w_.c(device));
    w_.await_count(barrier, P);
    for (int i = 3 + pick(8); i > 0; --i) action();
    while (!waits_.empty()) wait();
    // All devices have done all: only then are results copied out.
    for (int device = 0; device < P; ++device) w_.signal_to(barrier, w_.c(device));
    w_.await_count(barrier, P);
    w_.copy(w_.whole(slots_), w_.whole(out_), edge);
  }

  Program finish() { return w_.finish(); }

 private:
  int pick(int end) { return static_cast<int>(random_.below(end)); }
  int device() { return pick(w_.program().num_devices); }
  Slice slot(int number) { return {slots_, {w_.c(number), w_.c(0), w_.c(0)}, {1, 2, 2}, 1}; }
  void on(int device, const std::function<void()>& body) {
    w_.when(w_.equal(w_.device_id(), w_.c(device)), body);
  }

  void action() {
    switch (pick(6)) {
      case 0: {  // a slot becomes the sum of two
        const int a = pick(kSlots), b = pick(kSlots), to = pick(kSlots);
        on(device(), [&] { w_.store(w_.add(w_.load(slot(a)), w_.load(slot(b))), slot(to)); });
        break;
      }
      case 1: {
        const int from = pick(kSlots), to = (from + 1 + pick(kSlots - 1)) % kSlots;
        const int where = device();
        const SemaphoreRef done{dma_, {w_.c(pick(kSemaphores))}};
        on(where, [&] { w_.start_local(slot(from), slot(to), done); });
        waits_.push_back(
            [=, this] { on(where, [&] { w_.await_local(slot(from), slot(to), done); }); });
        break;
      }
      case 2: {
        const int sender = device(), receiver = device(), from = pick(kSlots), to = pick(kSlots);
        if (sender == receiver && from == to) break;
        const SemaphoreRef gone{dma_, {w_.c(pick(kSemaphores))}};
        const SemaphoreRef come{dma_, {w_.c(pick(kSemaphores))}};
        on(sender, [&] { w_.send(slot(from), slot(to), w_.c(receiver), gone, come); });
        waits_.push_back([=, this] { on(sender, [&] { w_.await_departure(slot(from), gone); }); });
        waits_.push_back([=, this] { on(receiver, [&] { w_.await_arrival(slot(to), come); }); });
        break;
      }
      case 3: {
        const int sender = device(), receiver = device();
        const SemaphoreRef word{words_, {w_.c(pick(kSemaphores))}};
        const Scalar amount = w_.c(1 + pick(2));
        on(sender,
           [&] { w_.signal({.semaphore = word, .amount = amount, .device = w_.c(receiver)}); });
        waits_.push_back(
            [=, this] { on(receiver, [&] { w_.await({.semaphore = word, .amount = amount}); }); });
        break;
      }
      default:
        if (!waits_.empty()) wait();
    }
  }
  void wait() {
    const auto which = waits_.begin() + pick(static_cast<int>(waits_.size()));
    (*which)();
    waits_.erase(which);
  }

  Random random_;
  Writer w_;
  int x_ = 0, out_ = 0, slots_ = 0, dma_ = 0, words_ = 0;
  std::vector<std::function<void()>> waits_;  // that have to come
};

// The other way round there is no "must": two writers may write the same. But nearly all programs
// with a fault do show it in their results, so the check does not cry for nothing.
TEST(RandomPrograms, AgreeInEveryBitWhereNoRunFindsAFault) {
  constexpr int kPrograms = 1000, kRuns = 24;
  int num_right = 0, num_faulty = 0, num_seen = 0, num_one_order = 0;
  for (std::uint64_t number = 0; number < kPrograms; ++number) {
    const Program program = RandomProgram(number).finish();
    const auto inputs = numbered_inputs(program);
    std::set<std::vector<std::vector<Array>>> results;
    bool faulty = false, one_order = false;
    for (int i = 0; i < kRuns; ++i) {
      RunOptions options{.seed = static_cast<std::uint64_t>(i),
                         .copies = kCopyModes[i % 3],
                         .late_device = i % 4 == 3 ? i % program.num_devices : -1,
                         .check_tiles = false};
      const RunResult checked = run(program, v6e(), inputs, options);
      one_order |= has_one_order(program, v6e(), inputs, options);
      if (checked.fault) {
        faulty = true;
        const Fault::Kind kind = checked.fault->kind;
        EXPECT_TRUE(kind == Fault::Kind::kRace || kind == Fault::Kind::kTwoWriters)
            << fault_text(checked);
      }
      options.check_races = false;
      const RunResult unchecked = run(program, v6e(), inputs, options);
      EXPECT_FALSE(unchecked.fault) << fault_text(unchecked);
      results.insert(unchecked.outputs);
    }
    // Where one run says that there is no other order, no run may find what it did not.
    num_one_order += one_order ? 1 : 0;
    EXPECT_FALSE(one_order && faulty) << "program " << number << "\n" << to_text(program);
    if (faulty) {
      ++num_faulty;
      num_seen += results.size() > 1 ? 1 : 0;
    } else {
      ++num_right;
      EXPECT_EQ(results.size(), 1u) << "program " << number << "\n" << to_text(program);
    }
  }
  EXPECT_GT(num_right, kPrograms / 5);
  EXPECT_GT(num_faulty, kPrograms / 5);
  EXPECT_GT(num_seen, num_faulty * 9 / 10);
  EXPECT_GT(num_one_order, num_right / 2);
}

}  // namespace
}  // namespace cmm::tpu
