// What the compiler's own dumps say of a kernel: the schedule, cycle by cycle, and who lies where
// in VMEM. The dumps are those that compile() asks for; their form is the same from libtpu 0.0.24
// to 0.0.52.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cmm::tpu::aot {

// A run of cycles that is entered at its first and left after its last.
struct CycleBlock {
  std::int64_t address = 0;  // of its first cycle
  std::int64_t cycles = 0;
  std::int64_t num_products = 0;  // instructions that start a product of rows
  double mxu_busy = 0;            // 0 .. 1
  bool in_loop = false;           // of the steps
};

struct ScheduleReport {
  std::int64_t cycles = 0;  // of all blocks once
  std::vector<CycleBlock> blocks;
  // One step: the blocks of the loop that multiply, one of which a step runs, and the others, as if
  // all of them were run.
  std::int64_t product_cycles = 0;  // of the largest
  std::int64_t control_cycles = 0;
  // Ends of the highest allocations: of all, and of all but spilled registers, which lie above.
  std::int64_t vmem_top_bytes = 0;
  std::int64_t buffers_top_bytes = 0;
  // Instructions, to be compared with the program's statements.
  std::int64_t num_copy_starts = 0, num_copy_awaits = 0, num_remote_signals = 0, num_products = 0;
  // "hbm" or "vmem", as XLA has placed each operand and result. The table is not among them: XLA
  // brings it to SMEM in its own way.
  std::vector<std::string> operand_memories;
};

// Of the folder that compile() had as CompileOptions::dump. Throws Error(kUnsupported) where it
// has no schedule with a product.
ScheduleReport read_schedule(const std::string& folder);

}  // namespace cmm::tpu::aot
