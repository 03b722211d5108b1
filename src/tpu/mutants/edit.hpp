// Changes of a program that is there: statements found by number, expressions written anew.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tpu/kernels/kernel.hpp"
#include "tpu/program.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {

Statement statement_at(const Program& program, int number);

// Takes out the statements for which `which` holds.
using Which = std::function<bool(const Statement&, int number)>;
void drop_statements(Program& program, const Which& which);

// Lets `change` rewrite a program with a Builder that makes expressions for it.
void rewrite(Program& program, const std::function<void(Builder&, Program&)>& change);
// The same for one statement.
using Change = std::function<void(Builder&, Statement&)>;
void rewrite_statement(Program& program, int number, const Change& change);

// The slices that a statement reads or writes: not those of a wait, which only count bytes.
std::vector<Slice*> accessed_slices(Statement& statement);
// The semaphores that it raises or takes from.
std::vector<SemaphoreRef*> semaphores_of(Statement& statement);
// The device that a copy or a signal goes to, where that is another; else null. That of a wait has
// no effect.
Scalar* device_of(Statement& statement);

// (scalar + by) modulo `extent`, of a scalar from 0 to extent - 1; `by` may be negative.
Scalar wrapped(Builder& builder, Scalar scalar, std::int64_t by, std::int64_t extent);

// "copy x -> x slots", "await arrivals[1, grid[0]]", "signal barrier", with the note.
std::string short_text(const TextWriter& writer, const Program& program,
                       const Statement& statement);

}  // namespace cmm::tpu
