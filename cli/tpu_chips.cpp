// cmm tpu chips: the chips there are, with their constants.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "add_option.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_command.hpp"

namespace cmm::cli {
namespace {

// Products and sums per second of one core, at its MXUs' peak.
double peak_flops(const tpu::Chip& chip, tpu::Element element) {
  const double cycles_per_row =
      chip.mxu_cycles_per_row / chip.num_mxus / chip.mxu_rate[static_cast<std::size_t>(element)];
  return 2.0 * chip.mxu_tile * chip.mxu_tile / cycles_per_row * chip.clock_hz;
}

std::string chips_table() {
  Table table({"chip", "bf16", "fp8", "int8", "HBM", "VMEM", "MXUs", "links", "of each", "hop",
               "wraps at"});
  for (const tpu::Chip& chip : tpu::chips()) {
    const auto peak = [&](tpu::Element element) {
      return tpu::multiplies(chip, element) ? flops_text(peak_flops(chip, element))
                                            : std::string("-");
    };
    table.add({chip.name, peak(tpu::Element::kBF16), peak(tpu::Element::kF8E4M3),
               peak(tpu::Element::kS8), rate_text(chip.hbm_bytes_per_second),
               bytes_text(chip.vmem_bytes),
               text(chip.num_mxus, " of ", chip.mxu_tile, "x", chip.mxu_tile), text(chip.links),
               rate_text(chip.link_bytes_per_second), seconds_text(chip.hop_seconds),
               text(chip.wrap_multiple)});
  }
  return table.str() +
         "\nFigures of one core; links of a chip, one way. `cmm tpu chips --json` has every "
         "constant with its source.\n";
}

}  // namespace

TpuCommand add_tpu_chips_command(CLI::App& tpu) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = tpu.add_subcommand("chips", "the chips there are, their constants and sources");
  sub->add_flag("--json", *json, "print the data file: copy it, edit it, hand it to --chips")
      ->disable_flag_override();
  sub->footer(
      "Examples:\n"
      "  cmm tpu chips\n"
      "  cmm tpu chips --json > my_chips.json\n"
      "  cmm tpu simulate --chips my_chips.json --chip v6e");
  return {sub, [json] {
            std::fputs((*json ? tpu::chips_text() : chips_table()).c_str(), stdout);
            return kDone;
          }};
}

}  // namespace cmm::cli
