// A call of the JAX function, checked as far as it can be without data.
#include <array>
#include <limits>

#include "api/tpu_kernels.hpp"
#include "api/tpu_reference.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_call.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

struct JaxName {
  std::string_view name;
  Element element;
};
constexpr std::array<JaxName, 4> kJaxNames = {{{"float32", Element::kF32},
                                               {"bfloat16", Element::kBF16},
                                               {"float8_e4m3fn", Element::kF8E4M3},
                                               {"int8", Element::kS8}}};

// Two names of one type are the same; a type that no kernel multiplies is another's affair.
std::string_view same_name(std::string_view dtype) {
  for (const JaxName& known : kJaxNames) {
    if (known.name == dtype) return element_name(known.element);
  }
  return dtype;
}

void check_shapes(const Call& call) {
  for (const auto& [operand, shape] : {std::pair{"x", &call.x_shape}, {"y", &call.y_shape}}) {
    if (shape->size() != 2) {
      refuse(cat(operand, " has shape ", shape_text(*shape), "; it must have 2 dimensions"));
    }
  }
  if (same_name(call.x_dtype) != same_name(call.y_dtype)) {
    refuse(
        cat("x is ", call.x_dtype, " and y is ", call.y_dtype, "; both must have the same dtype"));
  }
  const std::int64_t k = call.x_shape[1];
  const std::int64_t k_of_y = call.y_shape[call.rhs_transpose ? 1 : 0];
  if (k == k_of_y) {
    const std::int64_t n = call.y_shape[call.rhs_transpose ? 0 : 1];
    for (const auto& [name, extent] : {std::pair{"m", call.x_shape[0]}, {"k", k}, {"n", n}}) {
      if (extent > 0) continue;
      refuse(cat(name, " is ", extent, ", as x is ", shape_text(call.x_shape), " and y is ",
                 shape_text(call.y_shape), "; all extents must be at least 1"));
    }
    return;
  }
  const bool other_way = k == call.y_shape[call.rhs_transpose ? 0 : 1];
  refuse(
      cat("x is ", shape_text(call.x_shape), ", so k is ", k, "; y is ", shape_text(call.y_shape),
          call.rhs_transpose ? " = [n, k]" : " = [k, n]", ", so k is ", k_of_y,
          other_way
              ? cat("; rhs_transpose=", call.rhs_transpose ? "False" : "True", " takes y as it is")
              : std::string("; they must be equal")));
}

int axis_of(const Call& call) {
  for (std::size_t i = 0; i < call.mesh.size(); ++i) {
    if (call.mesh[i].name == call.axis_name) return static_cast<int>(i);
  }
  const auto named = [](const auto& axis) { return cat("'", axis.name, "' of ", axis.size); };
  const std::string names = joined(call.mesh, ", ", named);
  refuse(cat("axis_name is '", call.axis_name, "', but the mesh has ",
             names.empty() ? "no axes" : "the axes " + names));
}

// Of the axis by its name, which the problem does not know.
void check_split(const Call& call, const Problem& problem) {
  const std::int64_t n = problem.n[0];
  const int num_devices = problem.num_devices();
  if (num_devices < 1 || (n > 0 && n % num_devices == 0)) return;
  refuse(cat("y is ", shape_text(call.y_shape), ", so n is ", n, "; it is split over the ",
             num_devices, " devices of axis '", call.axis_name, "', so n must be a multiple of ",
             num_devices));
}

void check_collective_id(const Call& call, int num_devices) {
  if (num_devices == 1) return;  // nobody is waited for
  if (!call.collective_id) {
    refuse(
        "collective_id is None, but the kernel's barrier semaphore is found by it; give a whole "
        "number from 0 on, and one of its own to each kernel with other neighbours");
  }
  if (*call.collective_id < 0) {
    refuse(cat("collective_id is ", *call.collective_id, "; give a whole number from 0 on"));
  }
}

Problem stated_problem(const Call& call) {
  Problem problem;
  problem.axis = axis_of(call);
  problem.mesh.clear();
  for (const MeshAxis& axis : call.mesh) problem.mesh.push_back(axis.size);
  problem.m = call.x_shape[0];
  problem.k = call.x_shape[1];
  problem.n = {call.y_shape[call.rhs_transpose ? 0 : 1]};
  problem.element = element_of("x", call.x_dtype);
  problem.rhs_transposed = call.rhs_transpose;
  return problem;
}

KernelOptions stated_options(const Call& call) {
  KernelOptions options;
  options.schedule = call.schedule;
  options.collective_id = call.collective_id.value_or(0);
  for (const auto& [name, given, target] :
       {std::tuple{"bn", &call.bn, &options.bn}, {"bk", &call.bk, &options.bk}}) {
    if (!*given) continue;
    // 0 means "as tuned" in KernelOptions, and is no size in a call.
    if (**given <= 0) {
      refuse(cat(name, " is ", **given, "; it is a block's size, a multiple of ", kLanes,
                 " that divides ", name == std::string_view("bn") ? "n / P" : "k"));
    }
    *target = **given;
  }
  return options;
}

}  // namespace

Element element_of(std::string_view operand, std::string_view dtype) {
  for (const JaxName& known : kJaxNames) {
    if (known.name == dtype || element_name(known.element) == dtype) return known.element;
  }
  refuse(cat(operand, " has dtype ", dtype, "; the kernels multiply ",
             joined(kJaxNames, ", ", &JaxName::name)));
}

void check(const Call& call) {
  check_shapes(call);
  check_collective_id(call, call.mesh[static_cast<std::size_t>(axis_of(call))].size);
  stated_options(call);
}

void validate_inputs(const Call& call, const Chip& chip) {
  check(call);
  const Problem problem = stated_problem(call);
  check_split(call, problem);
  check(problem);
  const KernelOptions options = stated_options(call);
  if (options.schedule == Schedule::kSequential) {
    refuse("the sequential schedule is no kernel; leave the schedule open, or name another");
  }
  if (!is_reference(options)) {
    make_kernel(problem, chip, options);  // throws where the chip cannot hold it
    return;
  }
  const ReferenceChoice reference = choose_reference(problem, chip, options);
  if (!reference.refused.empty()) refuse(reference.refused);
}

Problem problem_of(const Call& call, const Chip& chip) {
  validate_inputs(call, chip);
  return stated_problem(call);
}

KernelOptions kernel_options_of(const Call& call, const Chip& chip) {
  validate_inputs(call, chip);
  return stated_options(call);
}

std::int64_t vmem_estimate_bytes(const Problem& problem, const Chip& chip,
                                 const KernelOptions& options) {
  check(problem);
  if (!is_reference(options)) return describe(problem, chip, options).vmem_bytes;
  const ReferenceChoice reference = choose_reference(problem, chip, options);
  // What does not fit has an estimate too; what has no block sizes has none.
  if (reference.options.bn < 1 || reference.options.bk < 1) {
    throw Error(ErrorCode::kUnsupported, reference.refused);
  }
  return reference_vmem_bytes(reference.options, chip);
}

CostEstimate cost_estimate(const Problem& problem, const Chip& chip, const KernelOptions& options) {
  const KernelDescription kernel = describe(problem, chip, options);
  return {kernel.flops, kernel.hbm_bytes, kernel.remote_bytes};
}

std::string kernel_name(const Problem& problem, const Chip& chip, const KernelOptions& options) {
  return describe(problem, chip, options).name;
}

}  // namespace cmm::tpu
