#include "tpu_options.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/error.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

constexpr DecimalRange kCopyGbytes = {.min = 0.001, .max = 1e6};
constexpr IntRange kExtent = {.min = 1, .max = std::int64_t{1} << 31};

// "51200" or, for several right sides, "1024,256,256".
std::vector<std::int64_t> parse_columns(std::string_view list) {
  std::vector<std::int64_t> columns;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    columns.push_back(parse_int("--n", rest.substr(0, comma), kExtent));
    if (comma == std::string_view::npos) return columns;
    rest.remove_prefix(comma + 1);
  }
}

// Of a shell: what it would cut or read as something else stands in quotes.
std::string shell_word(const std::string& word) {
  return word.find_first_of(" ;()*") == std::string::npos ? word : "'" + word + "'";
}

}  // namespace

std::vector<int> parse_grid(std::string_view option, std::string_view word) {
  std::vector<int> grid;
  for (std::string_view rest = word;;) {
    const std::size_t cross = rest.find('x');
    try {
      grid.push_back(
          static_cast<int>(parse_int(option, rest.substr(0, cross), {1, tpu::kMaxDevices})));
    } catch (const Error&) {
      throw Error(ErrorCode::kInvalidArgument,
                  text(option, " is ", quoted(word), "; give whole numbers from 1 to ",
                       tpu::kMaxDevices, " with x between, as in 2x4"));
    }
    if (cross == std::string_view::npos) return grid;
    rest.remove_prefix(cross + 1);
  }
}

std::string grid_text(const std::vector<int>& grid) { return joined(grid, "x"); }

void TpuOptions::add_chip_to(CLI::App& app) {
  add_value(
      app, "--chip", [this](const std::string& word) { chip_ = word; },
      "v4, v5e, v5p, v6e, 7x, or one of --chips (default: v6e)", "NAME");
  add_value(
      app, "--chips", [this](const std::string& word) { chips_path_ = word; },
      "your own chips: a copy of what `cmm tpu chips --json` prints, edited", "FILE");
}

void TpuOptions::add_problem_to(CLI::App& app, const Defaults& defaults) {
  default_devices_ = defaults.num_devices;
  problem_.m = defaults.m;
  problem_.k = defaults.k;
  problem_.n = {defaults.n};
  const auto with_default = [](const char* help, std::int64_t value) {
    return text(help, " (default: ", value, ")");
  };
  add_int(app, "--devices", num_devices_, {1, tpu::kMaxDevices},
          with_default("devices on one ring, P", defaults.num_devices));
  add_value(
      app, "--mesh", [this](const std::string& word) { mesh_ = parse_grid("--mesh", word); },
      "devices of a mesh, row-major; the ring runs along --axis", "AxB");
  add_int(app, "--axis", axis_, {0, 15}, "axis of the mesh, from 0 (default: the last)");
  add_int(app, "--m", problem_.m, kExtent, with_default("rows of x over all devices", defaults.m));
  add_int(app, "--k", problem_.k, kExtent, with_default("columns of x, rows of y", defaults.k));
  add_value(
      app, "--n", [this](const std::string& word) { problem_.n = parse_columns(word); },
      with_default("columns of y over all devices; A,B,... of several right sides", defaults.n),
      "N");
  add_name(app, "--dtype", problem_.element, tpu::parse_element,
           "element type of x and y: f32, bf16, fp8, int8 (default: bf16)", "TYPE");
  add_name(app, "--out-dtype", problem_.out_element, tpu::parse_element,
           "element type of the output (default: that of x; int32 of int8)", "TYPE");
  app.add_flag("--transpose-y", problem_.rhs_transposed, "y is stored as [n, k]")
      ->disable_flag_override();
  app.add_flag("--gathered", problem_.gathered, "all of x is an output, too")
      ->disable_flag_override();
}

void TpuOptions::add_kernel_to(CLI::App& app, const std::string& schedule_help) {
  add_name(app, "--schedule", kernel_.schedule, tpu::parse_schedule, schedule_help, "NAME");
  add_int(app, "--bn", kernel_.bn, {1, kExtent.max},
          "columns of a block of the reference kernel (default: as tuned)");
  add_int(app, "--bk", kernel_.bk, {1, kExtent.max},
          "rows of y of a block of the reference kernel (default: as tuned)");
  add_value(
      app, "--parameters",
      [this](const std::string& word) {
        if (word.empty()) {
          throw Error(ErrorCode::kInvalidArgument,
                      "--parameters is ''; give what `cmm tpu tune` prints, or leave it out");
        }
        kernel_.parameters = word;
      },
      "of the wavefront kernel, as `cmm tpu tune` prints them (default: the best known)", "TEXT");
}

void MachineFlags::add_to(CLI::App& app) {
  add_value(
      app, "--slice", [this](const std::string& word) { slice_ = parse_grid("--slice", word); },
      "chips that the ring lies on, as 2x4 (default: the usual slice)", "AxB");
  add_value(
      app, "--copy-gbytes",
      [this](const std::string& word) {
        copy_bytes_per_second_ = parse_decimal("--copy-gbytes", word, kCopyGbytes) * 1e9;
      },
      "10^9 bytes per second that one copy can draw of HBM (default: all there is)", "X");
}

void VerificationFlags::add_to(CLI::App& app) {
  add_int(app, "--interleavings", num_interleavings_, {0, 1'000'000},
          "random interleavings, on top of the fixed ones (default: 32; 4 of each of a sweep)");
  add_seed(app, seed_, "of the data and the interleavings");
}

tpu::Chip chip_named(const std::string& name, const std::string& path) {
  if (path.empty()) {
    return parse_name("--chip", name, [](std::string_view word) { return tpu::chip(word); });
  }
  const std::vector<tpu::Chip> chips = tpu::read_chips(path);
  for (const tpu::Chip& chip : chips) {
    if (chip.name == name) return chip;
  }
  throw Error(ErrorCode::kInvalidArgument,
              text("--chip is ", cli::quoted(name), "; ", path, " has ",
                   joined(chips, ", ", &tpu::Chip::name)));  // not std's
}

std::string TpuOptions::chip_flags() const {
  return text("--chip ", shell_word(chip_),
              chips_path_.empty() ? std::string() : " --chips " + shell_word(chips_path_));
}

void TpuOptions::refuse_shape_and_kernel(const CLI::App& app, std::string_view mode) {
  for (const char* option :
       {"--devices", "--mesh", "--axis", "--m", "--k", "--n", "--dtype", "--out-dtype",
        "--transpose-y", "--gathered", "--schedule", "--bn", "--bk", "--parameters"}) {
    if (app.count(option) > 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  text(option, " is given, but ", mode, " has its own; leave one of them out"));
    }
  }
}

std::string kernel_choice_text(const tpu::KernelOptions& asked, tpu::Schedule made) {
  const std::string_view name = tpu::schedule_name(made);
  if (asked.schedule != tpu::Schedule::kAuto) return std::string(name);
  return text(name, made == tpu::Schedule::kReference
                        ? ", as --bn or --bk is given"
                        : ", as none is named (`cmm tpu simulate` says which is fastest)");
}

tpu::Problem TpuOptions::problem() const {
  tpu::Problem problem = problem_;
  problem.mesh = mesh_.empty() ? std::vector<int>{num_devices_.value_or(default_devices_)} : mesh_;
  const int num_axes = static_cast<int>(problem.mesh.size());
  problem.axis = axis_.value_or(num_axes - 1);
  if (problem.axis >= num_axes) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--axis is ", problem.axis, " but the mesh ", grid_text(problem.mesh),
                     " has axes 0 to ", num_axes - 1));
  }
  if (!mesh_.empty() && num_devices_ && *num_devices_ != problem.num_devices()) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--devices is ", *num_devices_, " but axis ", problem.axis, " of --mesh ",
                     grid_text(mesh_), " has ", problem.num_devices(), "; leave one of them out"));
  }
  tpu::check(problem);
  return problem;
}

std::string flags_of(const tpu::Problem& problem, const tpu::KernelOptions& kernel) {
  std::string flags = problem.mesh.size() == 1
                          ? text("--devices ", problem.mesh[0])
                          : text("--mesh ", grid_text(problem.mesh), " --axis ", problem.axis);
  flags += text(" --m ", problem.m, " --k ", problem.k, " --n ", joined(problem.n, ","),
                " --dtype ", tpu::element_name(problem.element));
  if (problem.out_element) {
    flags += text(" --out-dtype ", tpu::element_name(*problem.out_element));
  }
  if (problem.rhs_transposed) flags += " --transpose-y";
  if (problem.gathered) flags += " --gathered";
  if (kernel.schedule != tpu::Schedule::kAuto) {
    flags += text(" --schedule ", tpu::schedule_name(kernel.schedule));
  }
  if (kernel.bn != 0) flags += text(" --bn ", kernel.bn);
  if (kernel.bk != 0) flags += text(" --bk ", kernel.bk);
  if (!kernel.parameters.empty()) flags += " --parameters " + shell_word(kernel.parameters);
  return flags;
}

std::string problem_text(const tpu::Problem& problem) {
  std::string ys;
  for (const std::int64_t n : problem.n) {
    ys += problem.rhs_transposed ? text(", y [", n, ", ", problem.k, "]")
                                 : text(", y [", problem.k, ", ", n, "]");
  }
  return text(tpu::element_name(problem.element), " x [", problem.m, ", ", problem.k, "]", ys,
              problem.rhs_transposed ? " transposed" : "", " on ", problem.num_devices(),
              problem.num_devices() == 1 ? " device" : " devices",
              problem.mesh.size() > 1
                  ? text(", axis ", problem.axis, " of ", grid_text(problem.mesh))
                  : std::string(),
              ", out ", tpu::element_name(problem.result_element()));
}

}  // namespace cmm::cli
