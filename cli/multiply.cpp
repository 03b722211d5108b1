// cmm multiply: the product of two matrices in files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "buffer.hpp"
#include "clock.hpp"
#include "cmm/cmm.hpp"
#include "combine.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "files/matrix_writer.hpp"
#include "files/read_matrix.hpp"
#include "files/spec.hpp"
#include "files/unfinished_file.hpp"
#include "memory.hpp"
#include "operands.hpp"
#include "parallel.hpp"
#include "problem_options.hpp"
#include "progress.hpp"
#include "reference_product.hpp"
#include "run_report.hpp"
#include "table.hpp"
#include "text.hpp"
#include "world.hpp"

namespace cmm::cli {
namespace {

struct MultiplyArguments {
  ProblemOptions problem;
  std::string x_spec;
  std::string y_spec;
  std::string out_spec;
  bool check = false;
  bool json = false;
};

struct Times {
  double read = 0;
  double pack = 0;
  double multiply = 0;
  double write = 0;
};

void refuse_overwriting(const std::string& out, const std::string& in) {
  if (!files::same_file(out, in)) return;
  throw Error(ErrorCode::kInvalidArgument,
              text("the output ", out, " is the input ", in, "; give another name to -o"));
}

// The problem that two matrices make; their elements have not been read.
Problem problem_of(const World& world, const MultiplyArguments& arguments,
                   const files::MatrixFile& x_file, const files::MatrixFile& y_file) {
  const bool transpose_y = arguments.problem.transpose_y();
  const StridedMatrixRef& x = x_file.view;
  const StridedMatrixRef y = transpose_y ? y_file.view.transposed() : y_file.view;
  if (x.dtype != y.dtype) {
    throw Error(ErrorCode::kInvalidArgument,
                text("x is ", x_file.description, " but y is ", y_file.description,
                     "; give two matrices of one type"));
  }
  if (x.cols != y.rows) {
    const bool other_way = x.cols == y.cols;
    throw Error(
        ErrorCode::kInvalidArgument,
        text("x is ", x_file.description, " with k = ", x.cols, " columns but y is ",
             y_file.description, transpose_y ? ", transposed," : "", " with ", y.rows, " rows of k",
             other_way ? (transpose_y ? "; leave --transpose-y out" : "; give --transpose-y")
                       : "; give matrices with the same k"));
  }
  return arguments.problem.problem_of(world, x.rows, x.cols, y.cols, x.dtype);
}

// On this machine: operands, packed y, output, and what a check takes.
std::int64_t needed_bytes(const World& world, const Problem& p, bool checks) {
  const auto bytes = [](std::int64_t rows, std::int64_t cols, std::int64_t size) {
    return saturating_product(saturating_product(rows, cols), size);
  };
  const auto size = static_cast<std::int64_t>(dtype_bytes(p.dtype));
  std::int64_t needed = saturating_sum(bytes(p.m, p.k, size), bytes(p.k, p.n, size));
  needed = saturating_sum(needed, bytes(p.k, p.n, size));
  needed = saturating_sum(
      needed, bytes(p.m, p.n, static_cast<std::int64_t>(dtype_bytes(p.output_dtype()))));
  needed = world.bytes_on_machine(needed, p.ranks);
  if (checks) {
    const int processes = world.cores().processes_on_machine;
    needed = saturating_sum(needed, bytes(p.m, p.k, processes * std::int64_t{sizeof(float)}));
    needed = saturating_sum(needed, bytes(p.m, 2 * 256 * num_cores(), sizeof(float)));
  }
  return needed;
}

struct Product {
  Matrix out;  // [m, columns of this process's ranks]
  Algorithm algorithm = Algorithm::kAuto;
  ResultDefinition definition;  // of its bits
};

// Collective over the processes.
Product multiply(World& world, const Problem& p, const Operands& o, Times& times,
                 Progress& progress) {
  const std::vector<CallRows> calls = calls_of(p);
  const int first_here = world.ranks_here(p.ranks).first;
  const auto out_bytes = static_cast<std::int64_t>(dtype_bytes(p.output_dtype()));
  Product product;
  together(world, [&] { product.out = Matrix(p.output_dtype(), p.m, o.cols()); });
  double packed_at = 0, ended_at = 0;
  const double begin = now_seconds();

  world.run(p.ranks, p.deadline, [&](Rank& at) {
    const int rank = at.rank();
    const Plan plan =
        make_plan(at.axis(), shape_of(calls[0].problem, rank), options_of(calls[0].problem));
    const RankPart part = part_of(p, rank);
    const Weights y = Weights::pack(o.y_local(rank), {.engine = p.engine});
    at.get_ready();
    if (rank == first_here) packed_at = now_seconds();
    for (std::size_t call = 0; call < calls.size(); ++call) {
      const std::int64_t row = calls[call].first_row, num_rows = calls[call].problem.m;
      const MatrixRef out_local(static_cast<char*>(product.out.row_block(row, num_rows).data) +
                                    (part.first_col - o.first_col()) * out_bytes,
                                p.output_dtype(), num_rows, part.cols, product.out.cols());
      all_gather_matmul(plan, o.x_local(call, rank), y, out_local);
      if (rank == 0) {
        progress.show("multiplying", static_cast<double>(row + num_rows) /
                                         static_cast<double>(std::max<std::int64_t>(p.m, 1)));
      }
    }
    at.meet();
    if (rank != first_here) return;
    ended_at = now_seconds();
    product.algorithm = plan.algorithm();
    product.definition = definition_of(p, y.engine());
  });
  times.pack = packed_at - begin;
  times.multiply = ended_at - packed_at;
  return product;
}

std::uint64_t hash_of(World& world, const Problem& p, const Operands& o, const Product& product) {
  const std::uint64_t part = hash_part(0, {o.first_col(), product.out.ref()});
  return output_hash({.m = p.m, .n = p.n, .dtype = p.output_dtype()},
                     sum_over_processes(world, part));
}

// Each process compares the columns of its ranks. Collective.
Comparison check(World& world, const files::MatrixFile& x_file, const Operands& o,
                 const Product& product, Progress& progress) {
  Comparison here;
  together(world, [&] {
    const std::vector<float> x = widened_file(x_file);
    ReferenceProblem reference;
    reference.x = MatrixView<const float>(x.data(), x_file.view.rows, x_file.view.cols);
    reference.y = [&o](std::int64_t row, std::int64_t col, const MatrixView<float>& block) {
      widen_block(o.y(), row, col - o.first_col(), block);
    };
    reference.chain = product.definition.chain;
    reference.any_order = product.definition.any_order;
    reference.num_threads = world.cores().of_process;
    reference.progress = [&](double done) { progress.show("checking", done); };
    here = compare_with_reference(reference, {{o.first_col(), product.out.ref()}});
  });
  return over_processes(world, here);
}

// Brings `rows` rows of all processes' columns together: [rows, n], empty where this one does not
// report.
Matrix whole_rows(World& world, const Problem& p, const MatrixRef& mine) {
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(mine.dtype));
  const std::string bytes(static_cast<const char*>(mine.data),
                          static_cast<std::size_t>(mine.rows * mine.cols * elem_bytes));
  const std::vector<std::string> all = gather_long(world, bytes);
  if (!world.reports()) return {};
  Matrix rows(mine.dtype, mine.rows, p.n);
  char* to = static_cast<char*>(rows.ref().data);
  for (std::int64_t i = 0; i < mine.rows; ++i) {
    for (int rank = 0; rank < p.ranks; ++rank) {
      const auto width = static_cast<std::size_t>(part_of(p, rank).cols * elem_bytes);
      const std::string& part = all[static_cast<std::size_t>(rank)];
      std::memcpy(to, part.data() + static_cast<std::size_t>(i) * width, width);
      to += width;
    }
  }
  return rows;
}

// The reporting process has the writer. Collective.
void write(World& world, const Problem& p, Product& product,
           std::optional<files::MatrixWriter>& writer) {
  constexpr std::int64_t kPartBytes = std::int64_t{4} << 20;
  const std::int64_t row_bytes = p.n * static_cast<std::int64_t>(dtype_bytes(p.output_dtype()));
  const std::int64_t step = world.is_one_process() || row_bytes == 0
                                ? std::max<std::int64_t>(p.m, 1)
                                : std::max<std::int64_t>(1, kPartBytes / row_bytes);
  for (std::int64_t row = 0; row < p.m; row += step) {
    const MatrixRef mine = product.out.row_block(row, std::min(step, p.m - row));
    const Matrix rows = world.is_one_process() ? Matrix() : whole_rows(world, p, mine);
    together(world, [&] {
      if (writer) writer->write_rows(world.is_one_process() ? mine : rows.ref());
    });
  }
  together(world, [&] {
    if (writer) writer->commit();
  });
}

struct Report {
  Problem problem;
  std::string transport;
  int num_hosts = 1;
  std::string x;
  std::string y;
  std::string out;
  Times times;
  Algorithm algorithm = Algorithm::kAuto;
  ResultDefinition definition;
  std::uint64_t hash = 0;
  std::optional<Comparison> check;

  bool wrong() const { return check && check->mismatches > 0; }
  double flops_per_second() const { return problem.flops() / times.multiply; }
  nlohmann::ordered_json json() const;
  std::string str() const;
};

nlohmann::ordered_json Report::json() const {
  nlohmann::ordered_json j;
  j["correct"] = check ? nlohmann::ordered_json(!wrong()) : nullptr;
  j["mismatches"] = check ? nlohmann::ordered_json(check->mismatches) : nullptr;
  if (wrong()) j["first_mismatch"] = check->first_mismatch;
  j["output_hash"] = hash_text(hash);
  j["x"] = x;
  j["y"] = y;
  j["out"] = wrong() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(out);
  j["m"] = problem.m;
  j["k"] = problem.k;
  j["n"] = problem.n;
  j["dtype"] = dtype_name(problem.dtype);
  j["out_dtype"] = dtype_name(problem.output_dtype());
  j["ranks"] = problem.ranks;
  j["threads"] = problem.threads;
  j["transport"] = transport;
  j["hosts"] = num_hosts;
  j["isa"] = isa_name(isa_of(problem));
  j["algorithm"] = algorithm_name(algorithm);
  j["numerics"] = definition_text(definition);
  j["read_seconds"] = times.read;
  j["pack_seconds"] = times.pack;
  j["multiply_seconds"] = times.multiply;
  j["write_seconds"] = times.write;
  j["gflops"] = flops_per_second() / 1e9;
  return j;
}

std::string Report::str() const {
  Table table;
  table.add({"x", x});
  table.add({"y", y});
  table.add({"out", text(dtype_name(problem.output_dtype()), " [", problem.m, ", ", problem.n, "]",
                         wrong() ? ", wrong and therefore not written" : " to " + out)});
  table.add({"ranks", ranks_text({problem, transport, num_hosts})});
  table.add({"algorithm", std::string(algorithm_name(algorithm))});
  table.add({"multiply", text(isa_name(isa_of(problem)), ": ", definition_text(definition))});
  table.add({"read", seconds_text(times.read)});
  table.add({"pack y", seconds_text(times.pack)});
  table.add({"product", text(seconds_text(times.multiply), ", ", flops_text(flops_per_second()))});
  table.add({"write", seconds_text(times.write)});
  table.add({"output hash", hash_text(hash)});
  if (check) table.add({"check", check->verdict()});
  return table.str();
}

int run(const MultiplyArguments& arguments, World& world) {
  Progress progress(world.reports());
  Report report;
  const Problem& p = report.problem;
  double begin = now_seconds();
  std::optional<files::MatrixFile> x_file, y_file;
  std::optional<Operands> operands;
  std::optional<files::MatrixWriter> writer;
  together(world, [&] {
    refuse_overwriting(arguments.out_spec, arguments.x_spec);
    refuse_overwriting(arguments.out_spec, arguments.y_spec);
    x_file.emplace(files::open_matrix(arguments.x_spec));
    y_file.emplace(files::open_matrix(arguments.y_spec));
    report.problem = problem_of(world, arguments, *x_file, *y_file);
    check_memory(needed_bytes(world, p, arguments.check), "this product");
  });
  warn_where_bound(world, p.threads);
  together(world, [&] {
    operands.emplace(world, p, *x_file, *y_file);
    report.times.read = now_seconds() - begin;
    if (!world.reports()) return;
    files::remove_unfinished_files_on_signals();
    writer.emplace(arguments.out_spec, p.output_dtype(), p.m, p.n);
  });

  Product product = multiply(world, p, *operands, report.times, progress);
  report.algorithm = product.algorithm;
  report.definition = product.definition;
  report.hash = hash_of(world, p, *operands, product);
  if (arguments.check) report.check = check(world, *x_file, *operands, product, progress);
  if (!report.wrong()) {
    begin = now_seconds();
    write(world, p, product, writer);
    report.times.write = now_seconds() - begin;
  }
  progress.clear();
  if (!world.reports()) return exit_code_of(report.check);
  report.transport = world.transport();
  report.num_hosts = world.num_hosts();
  report.x = x_file->description;
  report.y = y_file->description + (p.transpose_y ? ", transposed" : "");
  report.out = arguments.out_spec;
  const std::string shown = arguments.json ? report.json().dump(2) + "\n" : report.str();
  std::fputs(shown.c_str(), stdout);
  return exit_code_of(report.check);
}

}  // namespace

Command add_multiply_command(CLI::App& app) {
  auto arguments = std::make_shared<MultiplyArguments>();
  CLI::App* sub = app.add_subcommand("multiply", "multiply two matrices from files");
  sub->add_option("X", arguments->x_spec, "x [m, k]: FILE.npy or FILE.safetensors[:TENSOR]")
      ->required();
  sub->add_option("Y", arguments->y_spec, "y [k, n], likewise")->required();
  sub->add_option("-o,--output", arguments->out_spec,
                  "the product [m, n]: FILE.npy or FILE.safetensors[:TENSOR]")
      ->type_name("OUT")
      ->required();
  arguments->problem.add_execution_to(*sub);
  sub->add_flag("--check", arguments->check,
                "compare every output element with a product computed apart")
      ->disable_flag_override();
  sub->add_flag("--json", arguments->json, "print JSON instead of a table")
      ->disable_flag_override();
  sub->footer(
      "x is split over the ranks by rows, y by columns. OUT appears only when it is complete.\n"
      "Examples:\n"
      "  cmm multiply x.npy y.npy -o out.npy --ranks 4 --check\n"
      "  cmm multiply x.npy model.safetensors:mlp.up_proj.weight -o up.safetensors:up \\\n"
      "      --transpose-y --ranks 2");
  return {sub, [arguments](World& world) { return run(*arguments, world); }};
}

}  // namespace cmm::cli
