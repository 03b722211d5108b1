#include "tpu/verify.hpp"

#include "base/clock.hpp"
#include "base/text.hpp"

namespace cmm::tpu {
namespace {

// What is seen without running: check_program() knows kernels only as programs.
std::optional<Fault> fault_at_rest(const Kernel& kernel, const Chip& chip) {
  std::string text = check_program(kernel.program, chip);
  if (text.empty()) return std::nullopt;
  return Fault{.kind = Fault::Kind::kInvalid, .device = -1, .text = std::move(text)};
}

}  // namespace

std::vector<RunOptions> runs_of(const Kernel& kernel, const VerifyOptions& options) {
  const int num_devices = kernel.ring.num_devices();
  std::vector<RunOptions> runs;
  const auto add = [&](RunOptions run) {
    run.seed = options.seed + runs.size();
    run.check_races = options.check_races;
    run.max_steps = options.max_steps * run.num_calls;
    runs.push_back(run);
  };
  for (const CopyMode copies : {CopyMode::kEager, CopyMode::kAtAwait, CopyMode::kRandom}) {
    add({.copies = copies});
  }
  for (const int num_calls : {1, 2}) {
    for (int device = 0; device < num_devices; ++device) {
      add({.copies = CopyMode::kRandom, .late_device = device, .num_calls = num_calls});
    }
  }
  for (int i = 0; i < options.num_interleavings; ++i) {
    // Where nothing moves before it is awaited, what is awaited too late or by the wrong one shows.
    add({.copies = i % 4 == 3 ? CopyMode::kAtAwait : CopyMode::kRandom,
         .num_calls = i % 8 == 4 ? 2 : 1});
  }
  return runs;
}

std::string run_text(const RunOptions& options) {
  const auto copies = [&] {
    switch (options.copies) {
      case CopyMode::kEager:
        return "copies at once";
      case CopyMode::kAtAwait:
        return "copies when awaited";
      case CopyMode::kRandom:
        break;
    }
    return "copies in random pieces";
  }();
  std::string text = copies;
  if (options.late_device >= 0) text += cat(", device ", options.late_device, " late");
  if (options.num_calls != 1) text += cat(", ", options.num_calls, " calls");
  return text + cat(", seed ", options.seed);
}

Verdict verify(const Kernel& kernel, const Chip& chip, const VerifyOptions& options) {
  return verify(kernel, chip, options, Expectation(kernel, options.seed));
}

Verdict verify(const Kernel& kernel, const Chip& chip, const VerifyOptions& options,
               const Expectation& expectation) {
  const double start = wall_seconds();
  Verdict verdict;
  verdict.fault = fault_at_rest(kernel, chip);
  if (!verdict.fault) {
    const auto inputs = expectation.inputs(kernel);
    for (const RunOptions& run_options : runs_of(kernel, options)) {
      RunResult result = run(kernel.program, chip, inputs, run_options);
      ++verdict.num_runs;
      verdict.options = run_options;
      verdict.fault =
          result.fault ? std::move(result.fault) : expectation.compare(kernel, result.outputs);
      if (verdict.fault) break;
    }
    if (!verdict.fault && options.check_races) {
      verdict.proved = has_one_order(kernel.program, chip, inputs,
                                     {.copies = CopyMode::kEager,
                                      .num_calls = 2,
                                      .arithmetic = false,
                                      .max_steps = 2 * options.max_steps});
    }
  }
  verdict.seconds = wall_seconds() - start;
  return verdict;
}

}  // namespace cmm::tpu
