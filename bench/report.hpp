// What the benchmark programs share: options, statistics, output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "cmm/dtype.hpp"
#include "cmm/isa.hpp"

namespace cmm::bench {

double median(std::vector<double> values);

// Half of all values lie between the quartiles.
struct Spread {
  double median = 0;
  double low_quartile = 0;
  double high_quartile = 0;
};
Spread spread(std::vector<double> values);
nlohmann::json to_json(const Spread& spread);

// Matrices of random values of both signs with magnitudes in [1/2, 1), as any of the types.
void fill_random(AlignedBuffer& buffer, DType dtype);

// Every instruction set of this machine, or the named ones. Throws Error(kInvalidArgument,
// kUnsupported).
std::vector<Isa> chosen_isas(const std::vector<std::string>& names);

// Processor, number of cores, day and the load of the last minute, so that a figure can be placed.
nlohmann::json machine();

// Writes `report` with the machine to a file; an empty name: nothing. Throws std::runtime_error.
void write_json(const std::string& path, nlohmann::json report);

// main() of a program: an exception becomes one line on stderr and exit code 1.
int run_program(const char* name, int (*run)(int argc, char** argv), int argc, char** argv);

}  // namespace cmm::bench
