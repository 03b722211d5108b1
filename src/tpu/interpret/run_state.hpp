// The state of a run: virtual devices, their memories and semaphores, and copies in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tpu/interpret/boxes.hpp"
#include "tpu/interpret/fault.hpp"
#include "tpu/interpret/instructions.hpp"
#include "tpu/interpret/interpret.hpp"
#include "tpu/interpret/ordering.hpp"
#include "tpu/interpret/random.hpp"
#include "tpu/interpret/scalar_values.hpp"
#include "tpu/interpret/semaphores.hpp"
#include "tpu/interpret/vectors.hpp"

namespace cmm::tpu {

// One buffer of one device, in the call the device is in.
struct DeviceMemory {
  const std::byte* read = nullptr;
  std::byte* write = nullptr;  // null: an input
  Array own;                   // what they point to, unless it is an input
  AccessList accesses;
};

struct Device {
  Device(const Program& program, int number) : id(number), scalars(program, number) {}

  int id;
  enum class State : std::uint8_t { kOutside, kInside, kDone } state = State::kOutside;
  int call = 0;    // the one it is in, or will enter next
  Moment entered;  // that call
  int at = 0;      // the instruction that comes next
  std::vector<std::int64_t> grid;
  ScalarValues scalars;
  std::vector<VectorValue> vectors;
  std::vector<DeviceMemory> memories;  // by buffer
  std::vector<Semaphore> semaphores;   // those of all arrays, one after the other
  Clock clock;
  struct Wait {
    Semaphore* semaphore = nullptr;  // null: it does not wait
    std::int64_t amount = 0;
  } wait;
};

struct Copy {
  int number = 0;  // in RunState::copies
  int from = 0;    // devices
  int to = 0;
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  BoxRuns source_runs, target_runs;
  std::int64_t element_bytes = 0;
  std::int64_t num_elements = 0;
  // Elements are read into `staged` and written from there, from the first on or from the last.
  Array staged;
  std::int64_t num_read = 0;
  std::int64_t num_written = 0;
  bool from_last = false;
  Semaphore* departure = nullptr;  // null: a local copy
  Semaphore* arrival = nullptr;
};

struct RunState {
  RunState(const Program& the_program, const Chip& the_chip, const RunOptions& the_options,
           const std::vector<std::vector<Array>>& the_inputs);

  const Program& program;
  const Chip& chip;
  const RunOptions& options;
  const std::vector<std::vector<Array>>& inputs;
  std::vector<Instruction> instructions;
  std::vector<int> first_semaphore;  // by array: its first in Device::semaphores
  std::vector<bool> remote_target;   // by buffer: some copy writes it from another device

  Random random;
  std::vector<Device> devices;
  std::vector<CopyMoments> copies;               // all that have ever been started
  std::vector<std::unique_ptr<Copy>> in_flight;  // in the order of their start
  RunResult result;
};

// "copy x[0 : +8] -> ... (note)"
std::string statement_text(const RunState& run, int instruction);
// "device 2: copy ... (note)"
std::string where(const RunState& run, int device, int instruction);
// "come[1]"
std::string semaphore_name(const RunState& run, const Device& device, const Semaphore* semaphore);

// statements.cpp: carries out a statement that is not a block; leaves device.wait behind where it
// has to wait. Throws FaultFound.
void execute(RunState& run, Device& device, const Statement& statement);

// device.cpp
// The device's next step: it enters, goes on after a wait, or carries out one instruction. It must
// be able to go on: can_step(). Throws FaultFound.
void step(RunState& run, Device& device);
bool can_step(const RunState& run, const Device& device);

// copies.cpp: a copy begins; with CopyMode::kEager it is over, too.
void start(RunState& run, Copy copy);
// Moves a random part of a random copy in flight; there must be one.
void progress(RunState& run);
// A wait asks for what only a copy can bring: moves the latest one that adds to the semaphore, as
// far as it adds to it. False where there is none.
bool progress_for(RunState& run, const Semaphore* semaphore);
// Is there one?
bool can_progress_for(const RunState& run, const Semaphore* semaphore);

// schedule.cpp: runs all devices until all are done. Throws FaultFound.
void run_to_the_end(RunState& run);

}  // namespace cmm::tpu
