#include "problem.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "arguments.hpp"
#include "cmm/error.hpp"
#include "combine.hpp"
#include "generator.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

constexpr std::int64_t kNoInt64 = std::numeric_limits<std::int64_t>::max();

std::int64_t matrix_bytes(std::int64_t rows, std::int64_t cols, DType dtype) {
  return saturating_product(saturating_product(rows, cols),
                            static_cast<std::int64_t>(dtype_bytes(dtype)));
}

std::int64_t rows_of(const Problem& problem, RankRange ranks) {
  std::int64_t rows = 0;
  for (int rank = ranks.first; rank < ranks.end(); ++rank) rows += part_of(problem, rank).rows;
  return rows;
}

}  // namespace

double Problem::flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) *
         num_weights;
}

RankPart part_of(const Problem& problem, int rank) {
  RankPart part;
  if (problem.rows.empty()) {
    const Share rows = even_share(problem.m, problem.ranks, rank);
    part.first_row = rows.begin;
    part.rows = rows.size;
  } else {
    for (int r = 0; r < rank; ++r) part.first_row += problem.rows[static_cast<std::size_t>(r)];
    part.rows = problem.rows[static_cast<std::size_t>(rank)];
  }
  const Share cols = even_share(problem.n, problem.ranks, rank);
  part.first_col = cols.begin;
  part.cols = cols.size;
  return part;
}

ProblemShape shape_of(const Problem& problem, int rank) {
  ProblemShape shape;
  shape.m = problem.m;
  shape.k = problem.k;
  shape.dtype = problem.dtype;
  shape.n_local.assign(static_cast<std::size_t>(problem.num_weights), part_of(problem, rank).cols);
  shape.out_dtype = problem.out_dtype;
  shape.rows = problem.rows;
  return shape;
}

Options options_of(const Problem& problem) {
  Options options;
  options.algorithm = problem.algorithm;
  options.pieces = problem.pieces;
  options.hosts = problem.hosts;
  options.network = problem.network;
  options.threads = problem.threads;
  options.deadline = problem.deadline;
  options.isa = problem.isa;
  return options;
}

void check_sizes(const Problem& p) {
  struct Operand {
    const char* name;
    const char* dims;
    std::int64_t rows;
    std::int64_t cols;
    DType dtype;
  };
  for (const Operand& o :
       {Operand{"x", "m, k", p.m, p.k, p.dtype}, Operand{"y", "k, n", p.k, p.n, p.dtype},
        Operand{"out", "m, n", p.m, p.n, p.output_dtype()}}) {
    if (matrix_bytes(o.rows, o.cols, o.dtype) < kNoInt64) continue;
    throw Error(ErrorCode::kInvalidArgument,
                text(o.name, " [", o.dims, "] = [", o.rows, ", ", o.cols, "] in ",
                     dtype_name(o.dtype), " is more bytes than 2^63 - 1; give smaller sizes"));
  }
}

std::int64_t problem_bytes(const Problem& p) {
  const std::int64_t y = matrix_bytes(p.k, p.n, p.dtype);
  const std::int64_t out = matrix_bytes(p.m, p.n, p.output_dtype());
  std::int64_t bytes = matrix_bytes(p.m, p.k, p.dtype);
  bytes = saturating_sum(bytes, saturating_product(y, p.num_weights + std::int64_t{1}));
  return saturating_sum(bytes, saturating_product(out, p.num_weights));
}

ProblemData::ProblemData(World& world, const Problem& problem)
    : problem_(problem), ranks_(world.ranks_here(problem.ranks)) {
  const std::int64_t rows = rows_of(problem, ranks_);
  x_ = Matrix(problem.dtype, rows, problem.k,
              world.allocate(matrix_bytes(rows, problem.k, problem.dtype)));
  for (int rank = ranks_.first; rank < ranks_.end(); ++rank) {
    std::vector<Matrix>& sides = out_.emplace_back();
    for (int side = 0; side < problem.num_weights; ++side) {
      sides.emplace_back(problem.output_dtype(), problem.m, part_of(problem, rank).cols);
    }
  }
}

void ProblemData::fill_x(int rank) {
  const RankPart part = part_of(problem_, rank);
  const std::int64_t first_here = part_of(problem_, ranks_.first).first_row;
  generate_block({problem_.seed, 0}, {part.first_row, 0},
                 x_.row_block(part.first_row - first_here, part.rows));
}

std::vector<Weights> ProblemData::make_weights(int rank) const {
  const RankPart part = part_of(problem_, rank);
  std::vector<Weights> weights;
  for (int side = 0; side < problem_.num_weights; ++side) {
    const GeneratedMatrix y{problem_.seed, 1 + side};
    const PackOptions options{.transposed = problem_.transpose_y, .engine = problem_.engine};
    if (problem_.transpose_y) {
      Matrix stored(problem_.dtype, part.cols, problem_.k);
      generate_transposed(y, {0, part.first_col}, stored.ref());
      weights.push_back(Weights::pack(ConstMatrixRef(stored.ref()), options));
    } else {
      Matrix stored(problem_.dtype, problem_.k, part.cols);
      generate_block(y, {0, part.first_col}, stored.ref());
      weights.push_back(Weights::pack(ConstMatrixRef(stored.ref()), options));
    }
  }
  return weights;
}

ConstMatrixRef ProblemData::x_local(int rank) {
  const RankPart part = part_of(problem_, rank);
  return x_.row_block(part.first_row - part_of(problem_, ranks_.first).first_row, part.rows);
}

std::vector<MatrixRef> ProblemData::out(int rank) {
  std::vector<MatrixRef> refs;
  for (Matrix& side : sides_of(rank)) refs.push_back(side.ref());
  return refs;
}

void ProblemData::poison_out(int rank) {
  for (Matrix& side : sides_of(rank)) {
    if (side.bytes() > 0)
      std::memset(side.ref().data, 0xff, static_cast<std::size_t>(side.bytes()));
  }
}

std::vector<std::vector<OutputSlice>> ProblemData::output_slices() const {
  std::vector<std::vector<OutputSlice>> sides(static_cast<std::size_t>(problem_.num_weights));
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const std::int64_t first_col = part_of(problem_, ranks_.first + static_cast<int>(i)).first_col;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      sides[side].push_back({first_col, out_[i][side].ref()});
    }
  }
  return sides;
}

std::uint64_t output_hash(World& world, const ProblemData& data) {
  const Problem& p = data.problem();
  std::uint64_t sum = 0;
  int side = 0;
  for (const std::vector<OutputSlice>& slices : data.output_slices()) {
    for (const OutputSlice& slice : slices) sum += hash_part(side, slice);
    ++side;
  }
  return output_hash({.m = p.m, .n = p.n, .dtype = p.output_dtype(), .num_sides = p.num_weights},
                     sum_over_processes(world, sum));
}

CoresInUse cores_in_use(const World& world, const Problem& problem) {
  return {.num_cores = std::min(world.cores().in_all, problem.ranks * problem.threads),
          .num_machines = world.cores().num_machines};
}

Isa isa_of(const Problem& problem) { return problem.isa ? *problem.isa : default_isa(); }

ResultDefinition definition_of(const Problem& problem, Engine engine) {
  if (engine == Engine::kOneDnn) return {.any_order = true};
  const bool pairs = problem.dtype == DType::kBF16 && isa_of(problem) == Isa::kAvx512Bf16;
  return {.chain = pairs ? Chain::kBf16Pairs : Chain::kFma};
}

std::string definition_text(const ResultDefinition& definition) {
  if (definition.any_order) return "sums in any order (oneDNN)";
  return definition.chain == Chain::kFma ? "fmaf chain" : "native bf16 pairs";
}

Comparison check_outputs(World& world, const ProblemData& data, const ResultDefinition& definition,
                         const std::function<void(double)>& progress) {
  const Problem& p = data.problem();
  std::vector<float> x(static_cast<std::size_t>(p.m * p.k));
  generate_widened({p.seed, 0}, {}, p.dtype, MatrixView<float>(x.data(), p.m, p.k));
  const std::vector<std::vector<OutputSlice>> sides = data.output_slices();
  Comparison here;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    ReferenceProblem reference;
    reference.x = MatrixView<const float>(x.data(), p.m, p.k);
    reference.y = [&p, side](std::int64_t row, std::int64_t col, const MatrixView<float>& out) {
      generate_widened({p.seed, 1 + static_cast<std::int64_t>(side)}, {row, col}, p.dtype, out);
    };
    reference.chain = definition.chain;
    reference.any_order = definition.any_order;
    reference.num_threads = world.cores().of_process;
    if (progress) {
      reference.progress = [&](double done) {
        progress((static_cast<double>(side) + done) / static_cast<double>(sides.size()));
      };
    }
    here.add(compare_with_reference(reference, sides[side]));
  }
  return over_processes(world, here);
}

Solution solve(World& world, const Problem& problem) {
  Solution solution{ProblemData(world, problem), {}};
  world.run(problem.ranks, problem.deadline, [&](Rank& at) {
    const int rank = at.rank();
    const Plan plan = make_plan(at.axis(), shape_of(problem, rank), options_of(problem));
    solution.data.fill_x(rank);
    const std::vector<Weights> y = solution.data.make_weights(rank);
    solution.data.poison_out(rank);
    const std::vector<MatrixRef> out = solution.data.out(rank);
    at.get_ready();
    all_gather_matmul(plan, solution.data.x_local(rank), y, out);
    if (rank == world.ranks_here(problem.ranks).first) {
      solution.definition = definition_of(problem, y[0].engine());
    }
  });
  return solution;
}

Plan make_plan(const Axis& axis, const ProblemShape& shape, const Options& options) {
  try {
    return Plan::make(axis, shape, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    throw AgreedError(error.code(), error.what(), error.rank());
  }
}

}  // namespace cmm::cli
