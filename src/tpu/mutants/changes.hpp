// The changes that make mutants of a kernel.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tpu/mutants.hpp"
#include "tpu/mutants/edit.hpp"

namespace cmm::tpu {

// A mutant as what is done to a kernel.
struct Mutation {
  MutantKind kind = MutantKind::kDropStart;
  std::string name;
  MutantTarget target = {};
  std::function<void(Kernel&)> apply;
};

// Lets the copy or the signal go to the other neighbour.
void exchange_neighbours(Builder& builder, const Ring& ring, Statement& statement);

// Of single statements, those that are run.
std::vector<Mutation> statement_mutations(const Kernel& kernel, const Chip& chip,
                                          const std::vector<bool>& is_run);
// Of several statements: rounds of signals, all neighbours, fewer slots, order.
std::vector<Mutation> joint_mutations(const Kernel& kernel, const std::vector<bool>& is_run);
// Of the entries of the table; none where there is no table.
std::vector<Mutation> table_mutations(const Kernel& kernel);

}  // namespace cmm::tpu
