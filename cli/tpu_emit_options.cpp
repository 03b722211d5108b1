#include "tpu_emit_options.hpp"

#include <CLI/CLI.hpp>

#include "add_option.hpp"
#include "arguments.hpp"

namespace cmm::cli {
namespace {

constexpr DecimalRange kSeconds = {.min = 0.001, .max = 86400};

}  // namespace

void add_emit_options_to(CLI::App& app, tpu::EmitOptions& options) {
  add_int(app, "--mosaic-version", options.mosaic_version, {7, 20},
          "version of Mosaic; libtpu reads those up to its own (default: 8)");
  app.add_flag("--bytecode", options.bytecode, "the body as MLIR bytecode instead of text")
      ->disable_flag_override();
  app.add_flag("--bounds-checks", options.bounds_checks,
               "check at run time that copies lie inside of their buffers; 20 cycles each")
      ->disable_flag_override();
  add_name(app, "--wrapper", options.wrapper, tpu::parse_wrapper,
           "how devices get their parts: sdy, gspmd or replica (default: sdy)", "NAME");
}

void add_libtpu_to(CLI::App& app, tpu::CompileOptions& options) {
  add_value(
      app, "--libtpu", [&options](const std::string& word) { options.libtpu = word; },
      "libtpu.so or its folder (default: $CMM_LIBTPU, else a Python environment)", "PATH");
  add_value(
      app, "--timeout",
      [&options](const std::string& word) {
        options.timeout_seconds = parse_decimal("--timeout", word, kSeconds);
      },
      "seconds until libtpu is ended (default: 600)", "X");
}

}  // namespace cmm::cli
