// What the programs' tables are made of.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cmm::bench {

std::string number(double value, int digits);
std::string percent(double share);
std::string milliseconds(double seconds);
std::string quartiles(const nlohmann::json& spread);  // in milliseconds

// A table in which all cells of a column are as wide as its widest.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The JSON files of a run of ./dev bench.
class Results {
 public:
  explicit Results(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // null where the program has not been run.
  nlohmann::json get(const std::string& program) const;
  // The reports of all programs whose names begin so, by name.
  std::vector<nlohmann::json> all(const std::string& begin) const;

 private:
  std::filesystem::path folder_;
};

void print_machine(const nlohmann::json& report);

// The tables of programs that measure ranks.
void print_fused(const Results& results);      // threads
void print_processes(const Results& results);  // of one host
void print_hosts(const Results& results);
void print_waiting(const Results& results);

}  // namespace cmm::bench
