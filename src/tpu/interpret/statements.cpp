// Carries out the statements: resolves names to memories and semaphores, checks them, records the
// accesses, moves and computes.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "tpu/interpret/elements.hpp"
#include "tpu/interpret/run_state.hpp"
#include "tpu/shapes.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {
namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

std::string box_text(const Buffer& buffer, const Box& box) {
  std::string text;
  for (int i = 0; i < box.rank; ++i) {
    text += cat(i == 0 ? "" : ", ", box.begin[at(i)], " : +", box.size[at(i)]);
  }
  return cat(buffer.name, "[", text, "] of shape ", shape_text(buffer.shape));
}

class Executor {
 public:
  Executor(RunState& run, Device& device) : run_(run), device_(device) {}

  void operator()(const StartCopy& copy);
  void operator()(const AwaitCopy& await) {
    const Slice& slice = await.side == AwaitCopy::Side::kDeparture ? await.source : await.target;
    wait(await.semaphore, slice_bytes(run_.program, slice));
  }
  void operator()(const Signal& signal);
  void operator()(const Await& await) { wait(await.semaphore, amount(await.amount)); }
  void operator()(const ReadScalar& read);
  void operator()(const LoadVector& load) {
    const BoxRuns runs = access(device_, load.from, false);
    if (!run_.options.arithmetic) return;
    const Buffer& buffer = run_.program.buffers[at(load.from.buffer)];
    tpu::load(vector(load.result), buffer.element, runs,
              device_.memories[at(load.from.buffer)].read);
  }
  void operator()(const StoreVector& store) {
    const BoxRuns runs = access(device_, store.to, true);
    if (!run_.options.arithmetic) return;
    const Buffer& buffer = run_.program.buffers[at(store.to.buffer)];
    tpu::store(vector(store.value), buffer.element, runs,
               device_.memories[at(store.to.buffer)].write);
  }
  void operator()(const ZeroVector& zero) {
    if (run_.options.arithmetic) tpu::zero(vector(zero.result), type(zero.result));
  }
  void operator()(const Matmul& matmul) {
    if (!run_.options.arithmetic) return;
    const VectorType &lhs = type(matmul.lhs), &result = type(matmul.result);
    const MatmulShape shape{.rows = lhs.shape[0],
                            .inner = lhs.shape[1],
                            .cols = result.shape[1],
                            .rhs_transposed = matmul.rhs_transposed};
    tpu::matmul(vector(matmul.result), shape, lhs.element, vector(matmul.lhs), vector(matmul.rhs));
  }
  void operator()(const AddVectors& add) {
    if (!run_.options.arithmetic) return;
    tpu::add(vector(add.result), type(add.result), vector(add.a), vector(add.b));
  }
  void operator()(const SelectVector& select) {
    const bool first = get(select.condition) != 0;
    if (run_.options.arithmetic) vector(select.result) = vector(first ? select.a : select.b);
  }
  void operator()(const CastVector& cast) {
    if (!run_.options.arithmetic) return;
    tpu::cast(vector(cast.result), type(cast.result).element, vector(cast.from));
  }
  void operator()(const ReshapeVector& reshape) {
    if (run_.options.arithmetic) vector(reshape.result) = vector(reshape.from);
  }
  void operator()(const DebugPrint& print);
  // Blocks are instructions of their own.
  void operator()(const If&) {}
  void operator()(const For&) {}
  void operator()(const Scope&) {}

 private:
  std::int64_t get(Scalar scalar) { return device_.scalars.get(scalar); }
  VectorValue& vector(Vector vector) { return device_.vectors[at(vector.id)]; }
  const VectorType& type(Vector vector) const { return run_.program.vectors[at(vector.id)]; }

  std::int64_t amount(Scalar scalar);
  Box box(const Slice& slice);
  BoxRuns access(Device& owner, const Slice& slice, bool writes) {
    return record(owner, slice.buffer, box(slice), writes, -1);
  }
  BoxRuns record(Device& owner, int buffer, const Box& box, bool writes, int copy);
  [[noreturn]] void conflict(const Device& owner, int buffer, const Access& now,
                             const Access& earlier);
  Semaphore& semaphore(Device& owner, const SemaphoreRef& semaphore);
  void note_what_may_differ(const Device& owner, const Semaphore& semaphore,
                            const Contribution& contribution);
  void wait(const SemaphoreRef& ref, std::int64_t amount) {
    device_.wait = {&semaphore(device_, ref), amount};
  }
  Device& remote(Scalar number);
  void must_have_entered(const Device& other);
  Moment now() const { return {device_.id, device_.clock[at(device_.id)]}; }

  RunState& run_;
  Device& device_;
};

// Amounts of signals and of waits for them.
std::int64_t Executor::amount(Scalar scalar) {
  const std::int64_t value = get(scalar);
  if (value < 0) throw FaultFound{Fault::Kind::kInvalid, cat("the amount is ", value)};
  return value;
}

Box Executor::box(const Slice& slice) {
  const Buffer& buffer = run_.program.buffers[at(slice.buffer)];
  Box box;
  box.rank = static_cast<int>(buffer.shape.size());
  for (int i = 0; i < box.rank; ++i) {
    box.begin[at(i)] = get(slice.offsets[at(i)]);
    box.size[at(i)] = slice.sizes[at(i)];
  }
  for (int i = 0; i < box.rank; ++i) {
    const std::int64_t begin = box.begin[at(i)], end = begin + box.size[at(i)];
    if (begin < 0 || end > buffer.shape[at(i)]) {
      throw FaultFound{Fault::Kind::kOutOfBounds, box_text(buffer, box)};
    }
    const int tile = run_.options.check_tiles ? tile_along(buffer, i, run_.chip) : 1;
    if (begin % tile != 0) {
      throw FaultFound{Fault::Kind::kMisaligned,
                       cat(box_text(buffer, box), ": offset ", begin, " of dimension ", i,
                           " is no multiple of ", tile)};
    }
  }
  return box;
}

BoxRuns Executor::record(Device& owner, int number, const Box& box, bool writes, int copy) {
  const Buffer& buffer = run_.program.buffers[at(number)];
  if (run_.options.check_races && buffer.role != Role::kInput) {
    AccessList& accesses = owner.memories[at(number)].accesses;
    const Access access{.box = box,
                        .writes = writes,
                        .copy = copy,
                        .moment = now(),
                        .device = device_.id,
                        .instruction = device_.at};
    if (const Access* earlier = accesses.add(access, device_.clock, run_.copies)) {
      conflict(owner, number, access, *earlier);
    }
    if (accesses.should_prune()) {
      std::vector<const Clock*> clocks;
      for (const Device& device : run_.devices) {
        if (&device == &owner || run_.remote_target[at(number)]) clocks.push_back(&device.clock);
      }
      accesses.prune(clocks, run_.copies);
    }
  }
  return {buffer.shape, box};
}

void Executor::conflict(const Device& owner, int buffer, const Access& now, const Access& earlier) {
  const auto does = [](const Access& access) {
    return access.writes ? (access.copy < 0 ? "writes" : "is a copy that writes")
                         : (access.copy < 0 ? "reads" : "is a copy that reads");
  };
  const bool two_writers = now.writes && earlier.writes;
  throw FaultFound{two_writers ? Fault::Kind::kTwoWriters : Fault::Kind::kRace,
                   cat(does(now), " ", box_text(run_.program.buffers[at(buffer)], now.box),
                       " on device ", owner.id, ", and nothing orders it after ",
                       where(run_, earlier.device, earlier.instruction), ", which ", does(earlier),
                       " ", box_text(run_.program.buffers[at(buffer)], earlier.box))};
}

Semaphore& Executor::semaphore(Device& owner, const SemaphoreRef& ref) {
  const SemaphoreArray& array = run_.program.semaphores[at(ref.array)];
  std::int64_t number = 0;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const std::int64_t index = get(ref.index[i]);
    if (index < 0 || index >= array.shape[i]) {
      throw FaultFound{Fault::Kind::kOutOfBounds,
                       cat("semaphore ", array.name, " of shape ", shape_text(array.shape),
                           " at index ", index, " of dimension ", i)};
    }
    number = number * array.shape[i] + index;
  }
  return owner.semaphores[static_cast<std::size_t>(run_.first_semaphore[at(ref.array)] + number)];
}

void Executor::note_what_may_differ(const Device& owner, const Semaphore& semaphore,
                                    const Contribution& contribution) {
  if (!run_.options.check_races) return;
  // What adds nothing is awaited by nobody, so that its target may have left by then.
  if (contribution.amount > 0 && !semaphore.could_weaken_waits(contribution)) return;
  const int number = static_cast<int>(&semaphore - owner.semaphores.data());
  run_.result.uncertain.push_back({number, semaphore.last_trusted()});
  if (!run_.result.may_differ.empty()) return;
  run_.result.may_differ = cat(
      where(run_, device_.id, device_.at), ": could come before a wait for semaphore ",
      semaphore_name(run_, owner, &semaphore), " of device ", owner.id, " that it did not meet");
}

Device& Executor::remote(Scalar number) {
  const std::int64_t id = get(number);
  if (id < 0 || id >= static_cast<std::int64_t>(run_.devices.size())) {
    throw FaultFound{Fault::Kind::kOutOfBounds,
                     cat("there is no device ", id, " of ", run_.devices.size())};
  }
  return run_.devices[static_cast<std::size_t>(id)];
}

// Buffers and semaphores of a kernel come into being when the kernel begins on their device, and
// go when it ends.
void Executor::must_have_entered(const Device& other) {
  if (&other == &device_) return;
  const bool inside = other.state == Device::State::kInside && other.call == device_.call;
  if (!inside) {
    const bool left = other.call > device_.call;
    throw FaultFound{Fault::Kind::kRace,
                     cat("device ", other.id, left ? " has left call " : " has not entered call ",
                         device_.call)};
  }
  if (run_.options.check_races && !other.entered.known_to(device_.clock)) {
    throw FaultFound{Fault::Kind::kRace, cat("nothing tells this device that device ", other.id,
                                             " has entered call ", device_.call)};
  }
}

void Executor::operator()(const StartCopy& start) {
  Device& target = start.remote ? remote(start.remote->device) : device_;
  must_have_entered(target);
  const Box source_box = box(start.source), target_box = box(start.target);
  Copy copy;
  copy.number = static_cast<int>(run_.copies.size());
  run_.copies.emplace_back();
  copy.source_runs = record(device_, start.source.buffer, source_box, false, copy.number);
  copy.target_runs = record(target, start.target.buffer, target_box, true, copy.number);
  copy.source = device_.memories[at(start.source.buffer)].read;
  copy.target = target.memories[at(start.target.buffer)].write;
  copy.element_bytes = element_bytes(run_.program.buffers[at(start.source.buffer)].element);
  copy.num_elements = source_box.num_elements();

  const std::int64_t bytes = copy.num_elements * copy.element_bytes;
  Contribution contribution{.amount = bytes,
                            .clock = std::make_shared<const Clock>(device_.clock),
                            .copy = copy.number,
                            .departure = false};
  copy.arrival = &semaphore(target, start.arrival);
  note_what_may_differ(target, *copy.arrival, contribution);
  copy.arrival->promise(contribution);
  if (start.remote) {
    contribution.departure = true;
    copy.departure = &semaphore(device_, start.remote->departure);
    note_what_may_differ(device_, *copy.departure, contribution);
    copy.departure->promise(contribution);
  }
  ++device_.clock[at(device_.id)];  // what comes from here on is not before the copy
  (start.remote ? run_.result.remote_bytes : run_.result.local_bytes) += bytes;
  tpu::start(run_, std::move(copy));
}

void Executor::operator()(const Signal& signal) {
  Device& target = signal.device.known() ? remote(signal.device) : device_;
  const bool outlives_calls =
      run_.program.semaphores[at(signal.semaphore.array)].kind == SemaphoreKind::kBarrier;
  if (!outlives_calls) must_have_entered(target);
  Semaphore& signalled = semaphore(target, signal.semaphore);
  Contribution contribution{.amount = amount(signal.amount),
                            .clock = std::make_shared<const Clock>(device_.clock),
                            .copy = -1,
                            .departure = false};
  note_what_may_differ(target, signalled, contribution);
  signalled.signal(std::move(contribution));
  ++device_.clock[at(device_.id)];
}

void Executor::operator()(const ReadScalar& read) {
  Box box;
  const Buffer& buffer = run_.program.buffers[at(read.buffer)];
  box.rank = static_cast<int>(buffer.shape.size());
  std::int64_t number = 0;
  for (int i = 0; i < box.rank; ++i) {
    box.begin[at(i)] = get(read.index[at(i)]);
    box.size[at(i)] = 1;
    number = number * buffer.shape[at(i)] + box.begin[at(i)];
  }
  for (int i = 0; i < box.rank; ++i) {
    if (box.begin[at(i)] < 0 || box.begin[at(i)] >= buffer.shape[at(i)]) {
      throw FaultFound{Fault::Kind::kOutOfBounds, box_text(buffer, box)};
    }
  }
  record(device_, read.buffer, box, false, -1);
  std::int32_t value = 0;
  load_integers(buffer.element,
                device_.memories[at(read.buffer)].read + number * element_bytes(buffer.element),
                {&value, 1});
  device_.scalars.set_variable(read.result, value);
}

void Executor::operator()(const DebugPrint& print) {
  std::string text = cat("device ", device_.id, ": ");
  std::size_t from = 0, next = 0;
  for (std::size_t hole;
       (hole = print.text.find("{}", from)) != std::string::npos && next < print.values.size();
       from = hole + 2) {
    text += print.text.substr(from, hole - from) + std::to_string(get(print.values[next++]));
  }
  run_.result.printed.push_back(text + print.text.substr(from));
}

}  // namespace

void execute(RunState& run, Device& device, const Statement& statement) {
  std::visit(Executor(run, device), statement.what);
}

}  // namespace cmm::tpu
