// What the benchmark programs share: options, statistics, output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmm/isa.hpp"

namespace cmm::bench {

double median(std::vector<double> values);

// Every instruction set of this machine, or the named ones. Throws Error(kInvalidArgument,
// kUnsupported).
std::vector<Isa> chosen_isas(const std::vector<std::string>& names);

// Processor and number of cores, so that a figure can be placed.
nlohmann::json machine();

// Writes `report` with the machine to a file; an empty name: nothing. Throws std::runtime_error.
void write_json(const std::string& path, nlohmann::json report);

}  // namespace cmm::bench
