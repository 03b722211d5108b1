// Matrix, Weights, Plan and the calls.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/all_gather_matmul.hpp"
#include "gil.hpp"
#include "module.hpp"
#include "seconds.hpp"

namespace cmm::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator"" _a;

// A matrix that Python owns: the package builds one from an array and keeps the array alive as long
// as the module may look at it. Strides count elements.
struct Matrix {
  std::uintptr_t address = 0;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;

  StridedMatrixRef strided() const {
    return {reinterpret_cast<const void*>(address), dtype, rows, cols, row_stride, col_stride};
  }
  // Rows that are contiguous, which the package has seen to.
  MatrixRef row_major() const {
    if (col_stride != 1 && cols > 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the elements of a row must lie side by side; they "
                  "are " +
                      std::to_string(col_stride) + " apart");
    }
    // A stride means nothing where there is at most one row.
    return {reinterpret_cast<void*>(address), dtype, rows, cols,
            rows > 1 ? row_stride : std::max(row_stride, cols)};
  }
};

// Where the elements of a numpy array lie: numpy's documented C interface for arrays, which is four
// times as fast as to ask for it in Python.
std::uintptr_t address_of(const nb::object& array) {
  struct ArrayInterface {  // up to the member that is read
    int two;
    int num_dims;
    char kind;
    int item_bytes;
    int flags;
    Py_intptr_t* shape;
    Py_intptr_t* strides;
    void* data;
  };
  const nb::object capsule = array.attr("__array_struct__");
  const auto* found =
      static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (found == nullptr) throw nb::python_error();
  return reinterpret_cast<std::uintptr_t>(found->data);
}

// Empty where there is none.
MatrixRef row_major_of(const std::optional<Matrix>& matrix) {
  return matrix ? matrix->row_major() : MatrixRef{};
}

std::vector<MatrixRef> row_major_of(const std::vector<Matrix>& matrices) {
  std::vector<MatrixRef> refs;
  for (const Matrix& matrix : matrices) refs.push_back(matrix.row_major());
  return refs;
}

// A row of f32 where it lies. Empty where there is none.
std::span<const float> floats_of(const std::optional<Matrix>& row) {
  if (!row) return {};
  if (row->dtype != DType::kF32 || row->rows != 1) {
    throw Error(ErrorCode::kInvalidArgument, "a bias is one row of f32");
  }
  return {static_cast<const float*>(row->row_major().data), static_cast<std::size_t>(row->cols)};
}

std::vector<Activation> activations_of(const std::vector<std::string>& names) {
  std::vector<Activation> activations;
  for (const std::string& name : names) activations.push_back(parse_activation(name));
  return activations;
}

void bind_weights(nb::module_& module) {
  nb::class_<Weights>(module, "Weights")
      .def_static(
          "pack",
          [](const Matrix& y, bool transposed, const std::vector<float>& bias,
             const std::string& engine) {
            return Weights::pack(
                y.strided(),
                {.transposed = transposed, .bias = bias, .engine = parse_engine(engine)});
          },
          "y"_a, "transposed"_a = false, "bias"_a = std::vector<float>{}, "engine"_a = "auto",
          WithoutGil())
      .def_static(
          "view",
          [](const Matrix& y, bool transposed, const std::optional<Matrix>& bias) {
            return Weights::view(y.strided(), {.transposed = transposed, .bias = floats_of(bias)});
          },
          "y"_a, "transposed"_a = false, "bias"_a = nb::none(), WithoutGil())
      .def_prop_ro("k", &Weights::k)
      .def_prop_ro("n", &Weights::n)
      .def_prop_ro("dtype", [](const Weights& y) { return dtype_name(y.dtype()); })
      .def_prop_ro("engine", [](const Weights& y) { return engine_name(y.engine()); })
      .def_prop_ro("bytes", &Weights::bytes);
}

// In place of making a plan. Where the peers do not come to hear of it, this rank throws what it
// has wrong all the same, with what it met instead nested in it.
[[noreturn]] void refuse(const Axis& axis, const std::string& reason,
                         std::chrono::milliseconds deadline) {
  try {
    Plan::refuse(axis, reason, deadline);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw;
    std::throw_with_nested(Error(ErrorCode::kInvalidArgument, reason, axis.rank()));
  }
}

void bind_plan(nb::module_& module) {
  nb::class_<Explanation>(module, "Explanation")
      .def_prop_ro("algorithm", [](const Explanation& e) { return algorithm_name(e.algorithm); })
      .def_ro("pieces", &Explanation::pieces)
      .def_ro("transport", &Explanation::transport)
      .def_ro("hosts", &Explanation::hosts)
      .def_ro("num_chunks", &Explanation::num_chunks)
      .def_prop_ro("isa", [](const Explanation& e) { return isa_name(e.isa); })
      .def_prop_ro("engine", [](const Explanation& e) { return engine_name(e.engine); })
      .def_ro("numerics", &Explanation::numerics)
      .def_ro("received_bytes", &Explanation::received_bytes)
      .def_ro("copied_bytes", &Explanation::copied_bytes)
      .def_ro("workspace_bytes", &Explanation::workspace_bytes)
      .def_ro("multiply_seconds", &Explanation::multiply_seconds)
      .def_ro("gather_seconds", &Explanation::gather_seconds)
      .def_ro("exposed_seconds", &Explanation::exposed_seconds)
      .def_ro("expected_seconds", &Explanation::expected_seconds)
      .def_ro("reason", &Explanation::reason)
      .def("__str__", &Explanation::to_string);

  const Options usual;
  nb::class_<Plan>(module, "Plan")
      .def_static(
          "make",
          [](const Axis& axis, std::int64_t m, std::int64_t k,
             const std::vector<std::int64_t>& n_local, const std::string& dtype,
             const std::optional<std::string>& out_dtype, const std::vector<std::int64_t>& rows,
             const std::string& algorithm, int pieces, int threads, double deadline_seconds,
             bool native_bf16, const std::vector<std::string>& activations, bool swiglu) {
            ProblemShape shape{.m = m, .k = k, .n_local = n_local, .rows = rows};
            Options options{
                .pieces = pieces, .threads = threads, .native_bf16 = native_bf16, .swiglu = swiglu};
            try {
              options.deadline = deadline_of(deadline_seconds);  // of the refusal, too
              shape.dtype = parse_dtype(dtype);
              if (out_dtype) shape.out_dtype = parse_dtype(*out_dtype);
              options.algorithm = parse_algorithm(algorithm);
              options.activations = activations_of(activations);
            } catch (const Error& error) {
              refuse(axis, error.what(), options.deadline);
            }
            return Plan::make(axis, shape, options);
          },
          "axis"_a, nb::kw_only(), "m"_a, "k"_a, "n_local"_a, "dtype"_a, "out_dtype"_a = nb::none(),
          "rows"_a = std::vector<std::int64_t>{}, "algorithm"_a = "auto", "pieces"_a = usual.pieces,
          "threads"_a = usual.threads, "deadline_seconds"_a = seconds_of(usual.deadline),
          "native_bf16"_a = usual.native_bf16, "activations"_a = std::vector<std::string>{},
          "swiglu"_a = usual.swiglu, WithoutGil())
      .def_static(
          "refuse",
          [](const Axis& axis, const std::string& reason, double deadline_seconds) {
            refuse(axis, reason, deadline_of(deadline_seconds));
          },
          "axis"_a, "reason"_a, "deadline_seconds"_a, WithoutGil())
      .def_prop_ro("rank", &Plan::rank)
      .def_prop_ro("num_ranks", &Plan::num_ranks)
      .def_prop_ro("algorithm", [](const Plan& plan) { return algorithm_name(plan.algorithm()); })
      .def("rows_of", &Plan::rows_of, "rank"_a, "m"_a)
      .def("explain", &Plan::explain, WithoutGil())
      .def("picture", &Plan::picture);
}

}  // namespace

void bind_matmul(nb::module_& module) {
  nb::class_<Matrix>(module, "Matrix")
      .def(
          "__init__",
          [](Matrix* matrix, std::uintptr_t address, const std::string& dtype, std::int64_t rows,
             std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
            new (matrix) Matrix{address, parse_dtype(dtype), rows, cols, row_stride, col_stride};
          },
          "address"_a, "dtype"_a, "rows"_a, "cols"_a, "row_stride"_a, "col_stride"_a = 1);
  module.def("address_of", &address_of, "array"_a);
  bind_weights(module);
  bind_plan(module);
  module.def(
      "all_gather_matmul",
      [](const Plan& plan, const Matrix& x_local, const std::vector<Weights>& y,
         const std::vector<Matrix>& out, const std::optional<Matrix>& gathered) {
        all_gather_matmul(plan, x_local.row_major(), y, row_major_of(out),
                          {.gathered = row_major_of(gathered)});
      },
      "plan"_a, "x_local"_a, "y"_a, "out"_a, "gathered"_a = nb::none(),
      nb::call_guard<ReleasedInTurn>());
  module.def(
      "all_gather",
      [](const Plan& plan, const Matrix& x_local, const Matrix& gathered) {
        all_gather(plan, x_local.row_major(), gathered.row_major());
      },
      "plan"_a, "x_local"_a, "gathered"_a, nb::call_guard<ReleasedInTurn>());
  module.attr("dtypes") = nb::make_tuple("f32", "bf16", "f16");
}

}  // namespace cmm::python
