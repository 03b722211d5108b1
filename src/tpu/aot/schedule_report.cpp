#include "tpu/aot/schedule_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::tpu::aot {
namespace {

namespace fs = std::filesystem;

// Files are named TIME-PROGRAM-NUMBER-LABEL.txt. Not final_bundles, in which idle cycles have been
// folded into the bundles before them.
constexpr std::string_view kBundles = "-packed-bundles-post-ra.txt";
constexpr std::string_view kUtilization = "-pre-delay_hlo-static-per-bundle-utilization.txt";
constexpr std::string_view kAllocations = "-post-delay-converter.txt";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// PROGRAM of TIME-PROGRAM-NUMBER-LABEL.txt, where LABEL.txt is `label`.
std::optional<std::string> program_of(const std::string& name, std::string_view label) {
  if (name.size() < label.size() || !name.ends_with(label)) return std::nullopt;
  const std::string head = name.substr(0, name.size() - label.size());
  const std::size_t begin = head.find('-'), end = head.rfind('-');
  if (begin == std::string::npos || end <= begin) return std::nullopt;
  return head.substr(begin + 1, end - begin - 1);
}

std::int64_t count(std::string_view text, std::string_view what) {
  std::int64_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++found;
  }
  return found;
}

// Cycles of the MXU that each cycle keeps busy, 0 .. 1. One column of the matrix: older versions
// have no MATMUL but MXU.
std::vector<double> mxu_use(const std::string& text) {
  std::vector<double> use;
  std::size_t column = 0;
  double capacity = 0;
  enum { kNothing, kNames, kCapacities, kRows } next = kNothing;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("== CAP")) {
      next = kNames;
    } else if (line.starts_with("== UTIL")) {
      next = kRows;
    } else if (next == kNames) {
      std::istringstream names(line);
      std::size_t i = 0;
      for (std::string name; std::getline(names, name, ','); ++i) {
        name.erase(0, name.find_first_not_of(' '));
        if (name == "MATMUL" || name == "MXU") column = i;
      }
      next = kCapacities;
    } else {
      std::istringstream numbers(line);
      double value = 0;
      std::size_t i = 0;
      while (i <= column && numbers >> value) ++i;
      if (i <= column) continue;
      if (next == kCapacities) capacity = value;
      if (next == kRows) use.push_back(capacity > 0 ? value / capacity : 0);
    }
  }
  return use;
}

// "   0x2e LB: > { ... }": address, label, instructions. A line without an address is none.
struct Bundle {
  std::int64_t address = 0;
  bool labelled = false;
  std::string_view instructions;
};
std::optional<Bundle> bundle_of(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos || line[begin] < '0' || line[begin] > '9') {
    return std::nullopt;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string head(line.substr(begin, colon - begin));
  char* end = nullptr;
  Bundle bundle;
  bundle.address = std::strtoll(head.c_str(), &end, 0);
  bundle.labelled = std::string_view(end).find_first_not_of(' ') != std::string_view::npos;
  bundle.instructions = line.substr(colon + 1);
  return bundle;
}

std::optional<std::int64_t> branch_target(std::string_view instructions) {
  const std::size_t branch = instructions.find("sbr.rel");
  if (branch == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kTarget = "bundleno = ";
  const std::size_t at = instructions.find(kTarget, branch);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtoll(std::string(instructions.substr(at + kTarget.size(), 12)).c_str(), nullptr,
                      10);
}

// " [shape: s32[1020], index: 0, kind: input, ...": the only operand of one dimension.
bool is_table(const std::string& description) {
  constexpr std::string_view kShape = "[shape: s32[";
  const std::size_t at = description.find(kShape);
  if (at == std::string::npos) return false;
  const std::size_t end = description.find_first_not_of("0123456789", at + kShape.size());
  return end != std::string::npos && description[end] == ']';
}

void read_bundles(const std::string& text, const std::vector<double>& use, ScheduleReport& report) {
  struct Loop {
    std::int64_t begin, end;
  };
  std::vector<Loop> loops;
  bool begins = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<Bundle> bundle = bundle_of(line);
    if (!bundle) continue;
    if (begins || bundle->labelled) report.blocks.push_back({.address = bundle->address});
    CycleBlock& block = report.blocks.back();
    ++block.cycles;
    ++report.cycles;
    const std::int64_t products = count(bundle->instructions, "= vmatmul.");
    block.num_products += products;
    report.num_products += products;
    // XLA brings the table to SMEM: that is no statement of the program.
    report.num_copy_starts += count(bundle->instructions, "= dma.") -
                              count(bundle->instructions, "= dma.done") -
                              count(bundle->instructions, "= dma.hbm_to_smem") -
                              count(bundle->instructions, "= dma.vmem_to_smem");
    report.num_copy_awaits += count(bundle->instructions, "dma.done.wait");
    report.num_remote_signals += count(bundle->instructions, "= vsyncadd.remote");
    if (bundle->address < static_cast<std::int64_t>(use.size())) {
      block.mxu_busy += use[static_cast<std::size_t>(bundle->address)];
    }
    const std::optional<std::int64_t> target = branch_target(bundle->instructions);
    if (target && *target <= bundle->address) loops.push_back({*target, bundle->address});
    begins = bundle->instructions.find("sbr.rel") != std::string_view::npos;
  }
  // The loop of the steps is the longest; others copy, or are within it.
  Loop steps{0, -1};
  for (const Loop& loop : loops) {
    if (loop.end - loop.begin > steps.end - steps.begin) steps = loop;
  }
  for (CycleBlock& block : report.blocks) {
    block.mxu_busy /= static_cast<double>(block.cycles);
    block.in_loop = block.address >= steps.begin && block.address <= steps.end;
    if (!block.in_loop) continue;
    if (block.num_products > 0) {
      report.product_cycles = std::max(report.product_cycles, block.cycles);
    } else {
      report.control_cycles += block.cycles;
    }
  }
  constexpr std::string_view kOperand = "inlined_call_operand.";
  for (std::size_t at = text.find(kOperand); at != std::string::npos;
       at = text.find(kOperand, at + 1)) {
    const std::size_t begin = at + kOperand.size();
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin);
    if (!is_table(text.substr(end, 80))) {
      report.operand_memories.push_back(text.substr(begin, end - begin));
    }
  }
}

std::int64_t number_after(const std::string& line, std::string_view name) {
  const std::size_t at = line.find(name);
  return at == std::string::npos ? 0 : std::strtoll(line.c_str() + at + name.size(), nullptr, 0);
}

void read_allocations(const std::string& text, ScheduleReport& report) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("space=vmem") == std::string::npos) continue;
    if (line.find("shape = ") == std::string::npos) continue;
    const std::int64_t end = number_after(line, "offset = ") + number_after(line, ", size = ");
    report.vmem_top_bytes = std::max(report.vmem_top_bytes, end);
    const bool spilled = line.find("spilled vreg") != std::string::npos;
    if (!spilled) report.buffers_top_bytes = std::max(report.buffers_top_bytes, end);
  }
}

}  // namespace

ScheduleReport read_schedule(const std::string& folder) {
  std::string program, bundles;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const auto of = program_of(name, kBundles);
    if (!of || name.find("schedule-analysis") != std::string::npos) continue;
    std::string text = text_of(entry.path());
    if (text.find("= vmatmul.") == std::string::npos) continue;
    program = *of;
    bundles = std::move(text);
  }
  if (program.empty()) {
    throw Error(ErrorCode::kUnsupported,
                cat("libtpu wrote no schedule with a product to ", folder));
  }
  std::string utilization, allocations;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (program_of(name, kUtilization) == program) utilization = text_of(entry.path());
    if (program_of(name, kAllocations) == program) allocations = text_of(entry.path());
  }
  ScheduleReport report;
  read_bundles(bundles, mxu_use(utilization), report);
  read_allocations(allocations, report);
  return report;
}

}  // namespace cmm::tpu::aot
