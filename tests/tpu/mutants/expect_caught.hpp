// What every kernel's mutants must come to.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "tpu/mutants.hpp"

namespace cmm::tpu::test {

// The kernel itself is proved right. Each mutant is caught, or proved right, too; and no rule says
// of one that is caught that it changes nothing.
inline void expect_all_mutants_caught(const Kernel& kernel, const Chip& chip) {
  const VerifyOptions options = {.num_interleavings = 32};
  const Verdict verdict = verify(kernel, chip, options);
  ASSERT_FALSE(verdict.fault) << verdict.fault->text << "\n" << run_text(verdict.options);

  EXPECT_TRUE(verdict.proved);

  const std::vector<Mutant> all = mutants(kernel, chip);
  ASSERT_FALSE(all.empty());
  std::map<std::string, int> reasons;
  int num_caught = 0;
  const std::vector<MutantVerdict> verdicts = try_mutants(kernel, chip, options);
  ASSERT_EQ(verdicts.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(verdicts[i].missed()) << "missed: " << all[i].name;
    if (verdicts[i].caught) {
      ++num_caught;
      EXPECT_EQ(why_equivalent(kernel, all[i]), "") << all[i].name << "\n" << verdicts[i].cause;
    } else {
      ++reasons[verdicts[i].equivalent];
    }
  }
  std::string counts;
  for (const auto& [reason, count] : reasons) {
    counts += "; " + std::to_string(count) + " " + reason.substr(0, reason.find(':'));
  }
  std::cout << "    " << num_caught << " of " << all.size() << " caught" << counts << "\n";
}

}  // namespace cmm::tpu::test
