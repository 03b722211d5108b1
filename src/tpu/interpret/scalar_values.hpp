// The values of scalars on one device, computed when they are asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu {

class ScalarValues {
 public:
  ScalarValues(const Program& program, int device);

  // Throws FaultFound where the value is not defined (scalars.hpp).
  std::int64_t get(Scalar scalar);

  void set_variable(Scalar variable, std::int64_t value);
  void set_grid(std::vector<std::int64_t> grid);

 private:
  std::int64_t compute(const ScalarNode& node);

  const Program& program_;
  int device_;
  std::vector<std::int64_t> grid_;
  // A value is good as long as no variable and no grid index has changed since it was computed.
  std::uint64_t changes_ = 1;
  struct Value {
    std::int64_t value = 0;
    std::uint64_t computed = 0;  // at which count of changes; 0: never
  };
  std::vector<Value> values_;  // by number
};

}  // namespace cmm::tpu
