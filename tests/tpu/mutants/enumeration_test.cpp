// Which mutants there are: of each statement that does something, each a change, each with a name
// of its own. That they are caught is asked elsewhere.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tpu/kernels/reference.hpp"
#include "tpu/mutants.hpp"
#include "tpu/mutants/edit.hpp"
#include "tpu/support/chips.hpp"

namespace cmm::tpu {
namespace {

Kernel reference(int num_devices) {
  return reference_kernel({.ring = {{num_devices}, 0},
                           .m = 16 * num_devices,
                           .k = 256,
                           .n = 256 * num_devices,
                           .element = Element::kBF16,
                           .bn = 128,
                           .bk = 128},
                          test::chip_of_generation(6));
}

std::vector<Mutant> mutants_of(const Kernel& kernel) {
  return mutants(kernel, test::chip_of_generation(6));
}

TEST(Mutants, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Mutant& mutant : mutants_of(reference(4))) {
    EXPECT_TRUE(names.insert(mutant.name).second) << mutant.name;
  }
}

TEST(Mutants, AreEachAChange) {
  for (const int num_devices : {2, 3, 4}) {
    const Kernel kernel = reference(num_devices);
    const std::string original = to_text(kernel.program);
    std::map<std::string, std::string> others;  // by text
    for (const Mutant& mutant : mutants_of(kernel)) {
      const Kernel changed = mutant.make();
      const std::string text = to_text(changed.program);
      EXPECT_NE(text, original) << mutant.name;
      const auto [other, is_new] = others.try_emplace(text, mutant.name);
      // In a ring of two, the one neighbour is signalled twice.
      EXPECT_TRUE(is_new || num_devices == 2) << mutant.name << " is the same as " << other->second;
    }
    EXPECT_EQ(to_text(kernel.program), original);
  }
}

TEST(Mutants, AreTheSameEachTime) {
  const std::vector<Mutant> first = mutants_of(reference(4)), second = mutants_of(reference(4));
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].name, second[i].name);
    EXPECT_EQ(to_text(first[i].make().program), to_text(second[i].make().program));
  }
}

// What is left out is gone, and nothing else.
TEST(Mutants, LeaveOutEachStartWaitSignalAndStore) {
  const Kernel kernel = reference(4);
  Program program = kernel.program;
  std::set<int> to_drop;
  int num_statements = 0;
  for_each_statement(program.body, [&](Statement& statement, int number) {
    ++num_statements;
    if (!semaphores_of(statement).empty() || std::holds_alternative<StoreVector>(statement.what)) {
      to_drop.insert(number);
    }
  });
  std::set<int> dropped;
  for (const Mutant& mutant : mutants_of(kernel)) {
    if (mutant.kind > MutantKind::kDropStore || mutant.kind == MutantKind::kDropRound) continue;
    EXPECT_TRUE(dropped.insert(mutant.target.statement).second) << mutant.name;
    int num_left = 0;
    Kernel changed = mutant.make();
    for_each_statement(changed.program.body, [&](Statement&, int) { ++num_left; });
    EXPECT_EQ(num_left, num_statements - 1) << mutant.name;
  }
  EXPECT_EQ(dropped, to_drop);
}

TEST(Mutants, ExchangeNeighboursWhereThereAreTwo) {
  for (const int num_devices : {2, 3}) {
    int num_exchanged = 0;
    for (const Mutant& mutant : mutants_of(reference(num_devices))) {
      num_exchanged += mutant.kind == MutantKind::kNeighbour;
    }
    // Two sends of the own shard, two of what has come, two signals in each of two rounds; and all.
    EXPECT_EQ(num_exchanged, num_devices == 2 ? 0 : 2 + 2 + 4 + 1);
  }
}

TEST(Edit, WrapsWithinTheExtent) {
  Builder builder("wraps");
  for (const int by : {1, -1, 3}) {
    for (int value = 0; value < 4; ++value) {
      const Scalar result = wrapped(builder, builder.constant(value), by, 4);
      EXPECT_EQ(builder.program().scalars[static_cast<std::size_t>(result.id)].immediate,
                (value + by + 4) % 4);
    }
  }
}

}  // namespace
}  // namespace cmm::tpu
