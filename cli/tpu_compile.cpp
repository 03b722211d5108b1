// cmm tpu compile: a kernel through the TPU compiler, without a TPU.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "add_option.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "files/text_file.hpp"
#include "table.hpp"
#include "text.hpp"
#include "tpu_command.hpp"
#include "tpu_emit_options.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CompileArguments {
  TpuOptions tpu;
  tpu::CompileOptions options;
  std::string executable;  // file
  bool json = false;
};

std::string percent(double share) {
  return text(static_cast<int>(share * 1000 + 0.5) / 10.0, " %");
}

Json json_of(const tpu::CompileReport& report) {
  Json blocks = Json::array();
  for (const tpu::ScheduleBlock& block : report.blocks) {
    blocks.push_back({{"address", block.address},
                      {"cycles", block.cycles},
                      {"num_products", block.num_products},
                      {"mxu_busy", block.mxu_busy}});
  }
  return {{"product_cycles", report.product_cycles},
          {"model_cycles", report.model_cycles},
          {"control_cycles", report.control_cycles},
          {"mxu_busy", report.mxu_busy},
          {"vmem_bytes", report.vmem_bytes},
          {"spill_bytes", report.spill_bytes},
          {"num_copy_starts", report.num_copy_starts},
          {"num_copy_awaits", report.num_copy_awaits},
          {"num_remote_signals", report.num_remote_signals},
          {"num_operands_moved", report.num_operands_moved},
          {"blocks", blocks}};
}

Json json_of(const tpu::Compilation& compiled, bool with_report) {
  Json json = {{"kernel", compiled.kernel.name},
               {"parameters", compiled.kernel.parameters},
               {"topology", compiled.topology},
               {"devices", compiled.devices},
               {"longest_hop", compiled.longest_hop},
               {"libtpu", compiled.libtpu},
               {"version", compiled.version},
               {"fingerprint", compiled.fingerprint},
               {"code_bytes", compiled.code_bytes},
               {"argument_bytes", compiled.argument_bytes},
               {"output_bytes", compiled.output_bytes},
               {"temporary_bytes", compiled.temporary_bytes},
               {"vmem_bytes_predicted", compiled.kernel.vmem_bytes},
               {"vmem_bytes_asked", compiled.scoped_vmem_bytes},
               {"executable_bytes", compiled.executable.size()},
               {"compile_seconds", compiled.compile_seconds},
               {"seconds", compiled.seconds}};
  if (with_report) json["report"] = json_of(compiled.report);
  return json;
}

std::string str_of(const tpu::Compilation& compiled, const tpu::Chip& chip) {
  Table table;
  table.add({"kernel", compiled.kernel.name});
  table.add({"parameters", compiled.kernel.parameters});
  table.add({"slice", text(compiled.topology, ", devices ", joined(compiled.devices, " "),
                           ", longest hop ", compiled.longest_hop)});
  table.add({"libtpu", compiled.version});
  table.add({"code", bytes_text(compiled.code_bytes)});
  table.add({"HBM", text("arguments ", bytes_text(compiled.argument_bytes), ", results ",
                         bytes_text(compiled.output_bytes), ", temporary ",
                         bytes_text(compiled.temporary_bytes))});
  table.add({"VMEM", text(bytes_text(compiled.kernel.vmem_bytes), " of buffers, ",
                          bytes_text(compiled.scoped_vmem_bytes), " asked for, ", chip.name,
                          " has ", bytes_text(chip.vmem_bytes))});
  table.add({"fingerprint", compiled.fingerprint});
  table.add({"time", text(seconds_text(compiled.compile_seconds), ", with starting libtpu ",
                          seconds_text(compiled.seconds))});
  return table.str();
}

std::string str_of(const tpu::CompileReport& report, const tpu::Chip& chip) {
  Table table;
  const double model = static_cast<double>(report.model_cycles);
  table.add({"product",
             text(report.product_cycles, " cycles, the simulator's model ", report.model_cycles,
                  " (", percent(model / static_cast<double>(report.product_cycles)), ")")});
  table.add(
      {"control", text(report.control_cycles, " cycles of a step, if it does all a step can")});
  table.add({"MXU busy", text(percent(report.mxu_busy), " of such a step")});
  table.add(
      {"step", seconds_text(static_cast<double>(report.product_cycles + report.control_cycles) /
                            chip.clock_hz)});
  table.add({"VMEM", text("up to ", bytes_text(report.vmem_bytes), ", of it ",
                          bytes_text(report.spill_bytes), " spilled registers")});
  table.add({"code has", text(report.num_copy_starts, " starts of copies, ", report.num_copy_awaits,
                              " waits for them, ", report.num_remote_signals, " remote signals")});
  table.add({"operands", report.num_operands_moved == 0
                             ? text("all in HBM")
                             : text(report.num_operands_moved, " put into VMEM by XLA")});
  std::string shown = "\n" + table.str() + "\nBlocks of the loop over steps:\n";
  Table blocks;
  blocks.add({"address", "cycles", "products", "MXU busy"});
  for (const tpu::ScheduleBlock& block : report.blocks) {
    blocks.add({text(block.address), text(block.cycles), text(block.num_products),
                block.num_products == 0 ? text("-") : percent(block.mxu_busy)});
  }
  return shown + blocks.str();
}

int run(const CompileArguments& arguments) {
  const tpu::Problem problem = arguments.tpu.problem();
  const tpu::Chip chip = arguments.tpu.chip();
  const tpu::Compilation compiled =
      tpu::compile_kernel(problem, chip, arguments.tpu.kernel(), arguments.options);
  if (!arguments.executable.empty()) files::write_text(arguments.executable, compiled.executable);
  const bool report = arguments.options.report;
  const std::string shown =
      arguments.json ? json_of(compiled, report).dump(2) + "\n"
                     : str_of(compiled, chip) + (report ? str_of(compiled.report, chip) : "");
  std::fputs(shown.c_str(), stdout);
  return kDone;
}

}  // namespace

TpuCommand add_tpu_compile_command(CLI::App& tpu) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* sub = tpu.add_subcommand("compile", "a kernel through the real TPU compiler, libtpu");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {});
  arguments->tpu.add_kernel_to(*sub);
  add_emit_options_to(*sub, arguments->options.emit);
  add_value(
      *sub, "--slice",
      [arguments](const std::string& word) {
        arguments->options.slice = parse_grid("--slice", word);
      },
      "chips to compile for, as 2x4 (default: the smallest slice that will do)", "AxB");
  add_libtpu_to(*sub, arguments->options);
  sub->add_flag("--report", arguments->options.report,
                "the compiler's schedule: cycles of each block, MXU, VMEM, spilled registers")
      ->disable_flag_override();
  add_file(*sub, "--executable", arguments->executable,
           "write the compiled executable, to be loaded on a TPU");
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "libtpu is closed source and no part of this project; `tools/get_libtpu 0.0.52 "
      "build/libtpu`\n"
      "fetches it from PyPI. It runs in a process of its own; no TPU is needed.\n"
      "Examples:\n"
      "  cmm tpu compile --m 1024 --k 5120 --n 51200 --libtpu build/libtpu/0.0.52\n"
      "  cmm tpu compile --chip v5e --devices 4 --m 256 --k 1024 --n 2048 --report --json");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
