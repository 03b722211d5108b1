// cmm tpu emit: a kernel as the files that XLA takes.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "add_option.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "files/text_file.hpp"
#include "text.hpp"
#include "tpu_command.hpp"
#include "tpu_emit_options.hpp"
#include "tpu_options.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct EmitArguments {
  TpuOptions tpu;
  tpu::EmitOptions emit;
  std::string folder;
  bool json = false;
};

// What stands in the folder, and how it is run.
std::string readme_of(const EmitArguments& arguments, const tpu::Problem& problem,
                      const tpu::Chip& chip, const tpu::Emitted& emitted) {
  const bool replicas = arguments.emit.wrapper == tpu::Wrapper::kReplica;
  int num_devices = 1;
  for (const int size : problem.mesh) num_devices *= size;
  return text(
      "# ", emitted.name, "\n\n", problem_text(problem), ", for TPU ", chip.name,
      ". Written by\n\n    cmm tpu emit --chip ", chip.name, " ",
      flags_of(problem, arguments.tpu.kernel()), " --mosaic-version ",
      arguments.emit.mosaic_version, arguments.emit.bytecode ? " --bytecode" : "", " --wrapper ",
      tpu::wrapper_name(arguments.emit.wrapper), " -o .\n\n",
      "| file | what it is |\n|---|---|\n"
      "| module.mlir | StableHLO: the call of the kernel, with what pads its operands and cuts its "
      "results |\n"
      "| body.mlir | the kernel, as Mosaic text; errors of libtpu name its lines |\n"
      "| notes.txt | what each line of body.mlir is for, by number |\n"
      "| custom_call.json | what libtpu is told beside the body, which is in it in base64 |\n\n"
      "Compile it on any x86-64 Linux machine (no TPU needed):\n\n    cmm tpu compile --chip ",
      chip.name, " ", flags_of(problem, arguments.tpu.kernel()), "\n\n",
      "Run it on a TPU slice, in a process that owns the devices, with any program that compiles "
      "StableHLO\nthrough PJRT: give module.mlir as a program of format \"mlir\" to "
      "PJRT_Client_Compile, with ",
      replicas
          ? text("num_replicas = ", num_devices, " and num_partitions = 1")
          : text("num_replicas = 1, num_partitions = ", num_devices, " and use_spmd_partitioning",
                 arguments.emit.wrapper == tpu::Wrapper::kSdy ? " and use_shardy_partitioner" : ""),
      ",\nand a device assignment that makes neighbours on the ring neighbours on the slice. From "
      "Python, jaxlib's\n`client.compile_and_load` takes the same text and options. Mesh: [",
      joined(problem.mesh, ", "), "], devices row-major.\n");
}

int run(const EmitArguments& arguments) {
  if (arguments.folder.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "no folder to write to; give -o DIR");
  }
  const tpu::Problem problem = arguments.tpu.problem();
  const tpu::Chip chip = arguments.tpu.chip();
  const tpu::Emitted emitted =
      tpu::emit_kernel(problem, chip, arguments.tpu.kernel(), arguments.emit);
  std::error_code failed;
  std::filesystem::create_directories(arguments.folder, failed);
  if (failed) {
    throw Error(ErrorCode::kIo,
                text("cannot make the folder ", quoted(arguments.folder), ": ", failed.message()));
  }
  std::string notes;
  for (std::size_t i = 0; i < emitted.notes_of_lines.size(); ++i) {
    if (!emitted.notes_of_lines[i].empty()) {
      notes += text(i + 1, ": ", emitted.notes_of_lines[i], "\n");
    }
  }
  const auto path = [&](const char* name) { return arguments.folder + "/" + name; };
  files::write_text(path("module.mlir"), emitted.module);
  files::write_text(path("body.mlir"), emitted.body);
  files::write_text(path("notes.txt"), notes);
  files::write_text(path("custom_call.json"), emitted.config + "\n");
  files::write_text(path("README.md"), readme_of(arguments, problem, chip, emitted));
  if (arguments.json) {
    const Json shown = {{"kernel", emitted.name},
                        {"folder", arguments.folder},
                        {"body_bytes", emitted.body.size()},
                        {"module_bytes", emitted.module.size()},
                        {"seconds", emitted.seconds}};
    std::puts(shown.dump(2).c_str());
  } else {
    std::puts(text(arguments.folder, ": ", emitted.name, ", module.mlir of ", emitted.module.size(),
                   " bytes; README.md says how it is run")
                  .c_str());
  }
  return kDone;
}

}  // namespace

TpuCommand add_tpu_emit_command(CLI::App& tpu) {
  auto arguments = std::make_shared<EmitArguments>();
  CLI::App* sub = tpu.add_subcommand("emit", "a kernel as files that XLA compiles");
  arguments->tpu.add_chip_to(*sub);
  arguments->tpu.add_problem_to(*sub, {});
  arguments->tpu.add_kernel_to(*sub);
  add_emit_options_to(*sub, arguments->emit);
  add_value(
      *sub, "-o,--output", [arguments](const std::string& word) { arguments->folder = word; },
      "folder to write body, module, JSON and a README to", "DIR");
  sub->add_flag("--json", arguments->json, "print JSON instead of text")->disable_flag_override();
  sub->footer(
      "Examples:\n"
      "  cmm tpu emit --m 1024 --k 5120 --n 51200 -o out/kernel\n"
      "  cmm tpu emit --devices 4 --m 256 --k 256 --n 1024 --schedule reference --wrapper replica "
      "-o out/kernel");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
