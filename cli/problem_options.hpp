// The flags that describe a problem and how it is run; each command takes what it needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "problem.hpp"
#include "world.hpp"

namespace CLI {
class App;
}

namespace cmm::cli {

// What --deadline-ms says among the words of a command line, for the ranks to meet before the flags
// are parsed. The default where it is absent or wrong, which the parser then says.
std::chrono::milliseconds given_deadline(const std::vector<std::string>& words);

class ProblemOptions {
 public:
  // How: --ranks --threads --algorithm --hosts --link-gbit --link-us --pieces --isa; and for a
  // command that multiplies --out-dtype --transpose-y --engine --deadline-ms too.
  void add_plan_to(CLI::App& app);
  void add_execution_to(CLI::App& app);
  // What: --m --k --n --rows --dtype --weights; and for a command that makes up the data --seed.
  void add_shape_to(CLI::App& app);
  void add_data_to(CLI::App& app);

  // The problem the flags describe: --ranks follows from the ranks that were started, or from
  // --rows, --m from --rows, --threads from the cores there are. Throws Error(kInvalidArgument) on
  // what contradicts itself or overflows, Error(kUnsupported) on an instruction set that this
  // machine lacks.
  Problem problem(const World& world) const;
  // The same for operands that are given.
  Problem problem_of(const World& world, std::int64_t m, std::int64_t k, std::int64_t n,
                     DType dtype) const;
  bool transpose_y() const { return problem_.transpose_y; }

 private:
  // What remains to decide and to check once ranks and extents are known.
  Problem completed(const World& world, Problem problem) const;

  Problem problem_;
  std::optional<int> ranks_;
  std::optional<int> threads_;
  std::optional<std::int64_t> m_;
};

}  // namespace cmm::cli
