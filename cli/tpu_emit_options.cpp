#include "tpu_emit_options.hpp"

#include <CLI/CLI.hpp>

#include "add_option.hpp"

namespace cmm::cli {

void add_emit_options_to(CLI::App& app, tpu::EmitOptions& options) {
  add_int(app, "--mosaic-version", options.mosaic_version, {7, 20},
          "version of Mosaic; libtpu reads those up to its own (default: 8)");
  app.add_flag("--bytecode", options.bytecode, "the body as MLIR bytecode instead of text")
      ->disable_flag_override();
  add_name(app, "--wrapper", options.wrapper, tpu::parse_wrapper,
           "how devices get their parts: sdy, gspmd or replica (default: sdy)", "NAME");
}

}  // namespace cmm::cli
