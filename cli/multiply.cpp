// cmm multiply: the product of two matrices in files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arguments.hpp"
#include "buffer.hpp"
#include "clock.hpp"
#include "cmm/cmm.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "files/matrix_writer.hpp"
#include "files/read_matrix.hpp"
#include "files/spec.hpp"
#include "files/unfinished_file.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "problem_options.hpp"
#include "progress.hpp"
#include "reference_product.hpp"
#include "spin_barrier.hpp"
#include "table.hpp"
#include "text.hpp"

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

struct Operands {
  files::Tensor x_file;
  files::Tensor y_file;
  Matrix x_copy;       // used where the file's x is not row-major
  ConstMatrixRef x;    // [m, k]
  StridedMatrixRef y;  // [k, n], whatever way it is stored
};

struct Times {
  double read = 0;
  double pack = 0;
  double multiply = 0;
  double write = 0;
};

// A call multiplies some rows of x, so that a long product can report how far it is: the work of a
// tenth of a second or so, but enough rows that reading the weights again costs nothing.
std::int64_t rows_per_call(const Problem& p) {
  constexpr double kFlopsPerCall = 2e10;
  constexpr std::int64_t kLeastRows = 2048;
  const double flops_per_row = 2.0 * static_cast<double>(p.k) * static_cast<double>(p.n);
  const double rows = kFlopsPerCall / std::max(flops_per_row, 1.0);
  return rows >= static_cast<double>(p.m) ? p.m
                                          : std::min(p.m, std::max(kLeastRows, std::int64_t(rows)));
}

void refuse_overwriting(const std::string& out, const std::string& in) {
  if (!files::same_file(out, in)) return;
  throw Error(ErrorCode::kInvalidArgument,
              text("the output ", out, " is the input ", in, "; give another name to -o"));
}

// The problem that two matrices make; their elements have not been read.
Problem problem_of(const MultiplyArguments& arguments, const files::MatrixFile& x_file,
                   const files::MatrixFile& y_file) {
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
  return arguments.problem.problem_of(x.rows, x.cols, y.cols, x.dtype);
}

bool is_row_major(const StridedMatrixRef& m) { return m.col_stride == 1 || m.cols <= 1; }

// Ranks read x row by row; a file in Fortran order is brought to that form.
void make_x_row_major(Operands& o) {
  const StridedMatrixRef& x = o.x_file.view;
  if (is_row_major(x)) {
    o.x = {x.data, x.dtype, x.rows, x.cols, std::max(x.row_stride, x.cols)};
    return;
  }
  o.x_copy = Matrix(x.dtype, x.rows, x.cols);
  copy_matrix(x, o.x_copy.ref());
  o.x = o.x_copy.ref();
}

// Operands as the files store them, packed y, output, and what a copy of x and a check take.
std::int64_t needed_bytes(const Problem& p, const MultiplyArguments& arguments, bool copies_x) {
  const auto bytes = [](std::int64_t rows, std::int64_t cols, std::int64_t size) {
    return saturating_product(saturating_product(rows, cols), size);
  };
  const auto size = static_cast<std::int64_t>(dtype_bytes(p.dtype));
  std::int64_t needed = saturating_sum(bytes(p.m, p.k, size), bytes(p.k, p.n, size));
  needed = saturating_sum(needed, bytes(p.k, p.n, size));
  needed = saturating_sum(
      needed, bytes(p.m, p.n, static_cast<std::int64_t>(dtype_bytes(p.output_dtype()))));
  if (copies_x) needed = saturating_sum(needed, bytes(p.m, p.k, size));
  if (arguments.check) {
    needed = saturating_sum(needed, bytes(p.m, p.k, sizeof(float)));
    needed = saturating_sum(needed, bytes(p.m, 2 * 256 * num_cores(), sizeof(float)));
  }
  return needed;
}

// Fills out [m, n]; returns what its bits are defined by.
ResultDefinition multiply(const Problem& p, const Operands& o, Matrix& out, Times& times,
                          Progress& progress) {
  Problem call = p;  // of the first rows; the last call has fewer
  call.m = rows_per_call(p);
  const auto in_bytes = static_cast<std::int64_t>(dtype_bytes(p.dtype));
  const auto out_bytes = static_cast<std::int64_t>(dtype_bytes(p.output_dtype()));
  SpinBarrier barrier(p.ranks);
  std::atomic<double> packed_at = 0;  // written by rank 0 between barriers
  std::atomic<double> ended_at = 0;
  ResultDefinition definition;
  const double begin = now_seconds();

  run_ranks({{"tp", p.ranks}}, [&](Mesh& mesh) {
    try {
      const int rank = mesh.rank();
      const Plan plan = Plan::make(mesh.axis("tp"), shape_of(call, rank), options_of(call));
      const RankPart part = part_of(p, rank);
      const StridedMatrixRef y_local(
          static_cast<const char*>(o.y.data) + part.first_col * o.y.col_stride * in_bytes, p.dtype,
          p.k, part.cols, o.y.row_stride, o.y.col_stride);
      const Weights y = Weights::pack(y_local, {.engine = p.engine});
      barrier.wait();
      if (rank == 0) packed_at = now_seconds();
      for (std::int64_t row = 0; row < p.m; row += call.m) {
        Problem now = call;
        now.m = std::min(call.m, p.m - row);
        const RankPart rows = part_of(now, rank);
        const ConstMatrixRef x_local(
            static_cast<const char*>(o.x.data) + (row + rows.first_row) * o.x.row_stride * in_bytes,
            p.dtype, rows.rows, p.k, o.x.row_stride);
        const MatrixRef out_local(
            static_cast<char*>(out.ref().data) + (row * p.n + part.first_col) * out_bytes,
            p.output_dtype(), now.m, part.cols, p.n);
        all_gather_matmul(plan, x_local, y, out_local);
        if (rank == 0) {
          progress.show("multiplying", static_cast<double>(row + now.m) / static_cast<double>(p.m));
        }
      }
      barrier.wait();
      if (rank == 0) ended_at = now_seconds();
      if (rank == 0) definition = definition_of(p, y.engine());
    } catch (...) {
      barrier.leave();
      throw;
    }
  });
  times.pack = packed_at - begin;
  times.multiply = ended_at - packed_at;
  return definition;
}

Comparison check(const Problem& p, const Operands& o, const Matrix& out,
                 const ResultDefinition& definition, Progress& progress) {
  const std::vector<float> x = widened(o.x);
  ReferenceProblem reference;
  reference.x = MatrixView<const float>(x.data(), p.m, p.k);
  reference.n = p.n;
  reference.y = [&o](std::int64_t row, std::int64_t col, const MatrixView<float>& block) {
    widen_block(o.y, row, col, block);
  };
  reference.chain = definition.chain;
  reference.any_order = definition.any_order;
  reference.num_threads = num_cores();
  reference.progress = [&](double done) { progress.show("checking", done); };
  return compare_with_reference(reference, {{0, out.ref()}});
}

struct Report {
  Problem problem;
  std::string x;
  std::string y;
  std::string out;
  Times times;
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
  j["isa"] = isa_name(isa_of(problem));
  j["algorithm"] = algorithm_name(problem.algorithm);
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
  table.add({"ranks", text(problem.ranks, ", threads of each ", problem.threads)});
  table.add({"algorithm", std::string(algorithm_name(problem.algorithm))});
  table.add({"multiply", text(isa_name(isa_of(problem)), ": ", definition_text(definition))});
  table.add({"read", seconds_text(times.read)});
  table.add({"pack y", seconds_text(times.pack)});
  table.add({"product", text(seconds_text(times.multiply), ", ", flops_text(flops_per_second()))});
  table.add({"write", seconds_text(times.write)});
  table.add({"output hash", hash_text(hash)});
  if (check) table.add({"check", check->verdict()});
  return table.str();
}

int run(const MultiplyArguments& arguments) {
  refuse_overwriting(arguments.out_spec, arguments.x_spec);
  refuse_overwriting(arguments.out_spec, arguments.y_spec);
  Progress progress;
  Report report;
  double begin = now_seconds();
  const files::MatrixFile x_file = files::open_matrix(arguments.x_spec);
  const files::MatrixFile y_file = files::open_matrix(arguments.y_spec);
  report.problem = problem_of(arguments, x_file, y_file);
  const Problem& p = report.problem;
  check_memory(needed_bytes(p, arguments, !is_row_major(x_file.view)), "this product");
  Operands o;
  o.x_file = x_file.read();
  o.y_file = y_file.read();
  o.y = p.transpose_y ? o.y_file.view.transposed() : o.y_file.view;
  report.times.read = now_seconds() - begin;
  files::remove_unfinished_files_on_signals();
  files::MatrixWriter writer(arguments.out_spec, p.output_dtype(), p.m, p.n);

  make_x_row_major(o);
  Matrix out(p.output_dtype(), p.m, p.n);
  report.definition = multiply(p, o, out, report.times, progress);
  report.hash = output_hash(std::vector<std::vector<OutputSlice>>{{{0, out.ref()}}});
  if (arguments.check) report.check = check(p, o, out, report.definition, progress);
  if (!report.wrong()) {
    begin = now_seconds();
    writer.write_rows(out.ref());
    writer.commit();
    report.times.write = now_seconds() - begin;
  }
  report.x = o.x_file.description;
  report.y = o.y_file.description + (p.transpose_y ? ", transposed" : "");
  report.out = arguments.out_spec;
  progress.clear();
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
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
