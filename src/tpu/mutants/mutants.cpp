#include "tpu/mutants.hpp"

#include <array>
#include <iterator>
#include <memory>
#include <utility>

#include "tpu/mutants/changes.hpp"
#include "tpu/mutants/probe.hpp"

namespace cmm::tpu {
namespace {

// Far more than any fault of a kernel that comes to an end adds to what the kernel does itself.
std::int64_t max_steps_of_mutants(const Kernel& kernel, const Chip& chip,
                                  const Expectation& expectation) {
  const RunResult result = run(kernel.program, chip, expectation.inputs(kernel),
                               {.copies = CopyMode::kEager, .arithmetic = false});
  return 20 * result.num_statements + 1000;
}

}  // namespace

std::string_view kind_name(MutantKind kind) {
  constexpr std::array<std::string_view, 14> kNames = {
      "drop start", "drop await", "drop signal", "drop round", "drop store",
      "neighbour",  "slot",       "fewer slots", "semaphore",  "offset",
      "amount",     "order",      "table drop",  "table entry"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Mutant> mutants(const Kernel& kernel, const Chip& chip) {
  const std::vector<bool> is_run = statements_run(kernel, chip);
  std::vector<Mutation> mutations = statement_mutations(kernel, chip, is_run);
  for (const auto& more : {joint_mutations(kernel, is_run), table_mutations(kernel)}) {
    mutations.insert(mutations.end(), more.begin(), more.end());
  }
  const auto original = std::make_shared<const Kernel>(kernel);
  std::vector<Mutant> result;
  for (Mutation& mutation : mutations) {
    result.push_back({.kind = mutation.kind,
                      .name = std::move(mutation.name),
                      .target = std::move(mutation.target),
                      .make = [original, apply = std::move(mutation.apply)] {
                        Kernel changed = *original;
                        apply(changed);
                        return changed;
                      }});
  }
  return result;
}

std::vector<MutantVerdict> try_mutants(const Kernel& kernel, const Chip& chip,
                                       const VerifyOptions& options,
                                       const std::function<void(int done, int all)>& progress) {
  const Expectation expectation(kernel, options.seed);
  VerifyOptions of_mutants = options;
  of_mutants.max_steps = max_steps_of_mutants(kernel, chip, expectation);
  const std::vector<Mutant> all = mutants(kernel, chip);
  std::vector<MutantVerdict> verdicts;
  for (const Mutant& mutant : all) {
    const Verdict verdict = verify(mutant.make(), chip, of_mutants, expectation);
    MutantVerdict& of_mutant = verdicts.emplace_back();
    of_mutant.name = mutant.name;
    of_mutant.kind = mutant.kind;
    of_mutant.num_runs = verdict.num_runs;
    if (verdict.fault) {
      of_mutant.caught = true;
      of_mutant.fault = verdict.fault->kind;
      of_mutant.cause = verdict.fault->text;
      of_mutant.run = verdict.options;
    } else if (verdict.proved) {
      of_mutant.equivalent = why_equivalent(kernel, mutant);
      if (of_mutant.equivalent.empty()) {
        of_mutant.equivalent = "one run for all: what is changed orders nothing that needs it";
      }
    }
    if (progress) progress(static_cast<int>(verdicts.size()), static_cast<int>(all.size()));
  }
  return verdicts;
}

}  // namespace cmm::tpu
