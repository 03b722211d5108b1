#include "tpu/mutants/probe.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "tpu/mutants/edit.hpp"
#include "tpu/operands.hpp"

namespace cmm::tpu {
namespace {

constexpr std::string_view kProbe = "probe ";

// Before each statement one that prints its number.
void add_probes(Block& block, int& number) {
  Block probed;
  for (Statement& statement : block) {
    probed.push_back({.what = DebugPrint{.text = cat(kProbe, number++), .values = {}}});
    if (Block* body = body_of(statement)) add_probes(*body, number);
    probed.push_back(std::move(statement));
  }
  block = std::move(probed);
}

}  // namespace

std::vector<bool> statements_run(const Kernel& kernel, const Chip& chip) {
  Program probed = kernel.program;
  int num_statements = 0;
  add_probes(probed.body, num_statements);
  std::vector<Operands> rings;
  for (int ring = 0; ring < num_rings(kernel.ring); ++ring) {
    rings.push_back(make_operands(kernel, 1));
  }
  const RunResult result =
      run(probed, chip, lay_out(kernel, rings), {.copies = CopyMode::kEager, .arithmetic = false});
  std::vector<bool> is_run(static_cast<std::size_t>(num_statements), result.fault.has_value());
  for (const std::string& line : result.printed) {
    const std::size_t at = line.find(kProbe);
    if (at == std::string::npos) continue;  // the kernel's own
    is_run[static_cast<std::size_t>(std::stoi(line.substr(at + kProbe.size())))] = true;
  }
  return is_run;
}

}  // namespace cmm::tpu
