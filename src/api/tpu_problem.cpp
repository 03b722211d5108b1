// What a problem must be, whatever the kernel.
#include <array>
#include <limits>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_kernel.hpp"

namespace cmm::tpu {
namespace {

constexpr std::array<std::string_view, 4> kScheduleNames = {"auto", "reference", "wavefront",
                                                            "sequential"};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void check_mesh(const Problem& problem) {
  if (problem.mesh.empty()) refuse("the mesh has no axes; give at least one, as in 8 or 2x4");
  std::int64_t devices = 1;
  for (const int size : problem.mesh) {
    if (size < 1) {
      refuse(cat("mesh ", joined(problem.mesh, "x"), " has an axis of ", size,
                 " devices; give at least 1"));
    }
    devices *= size;
    if (devices > kMaxDevices) {
      refuse(cat("mesh ", joined(problem.mesh, "x"), " has more than ", kMaxDevices, " devices"));
    }
  }
  if (problem.axis < 0 || problem.axis >= static_cast<int>(problem.mesh.size())) {
    refuse(cat("axis is ", problem.axis, " but mesh ", joined(problem.mesh, "x"), " has axes 0 to ",
               problem.mesh.size() - 1));
  }
}

void check_bytes(const char* operand, std::int64_t rows, std::int64_t cols, int element_bytes) {
  const std::int64_t elements = checked_product(rows, cols);
  if (elements < 0 || checked_product(elements, element_bytes) < 0) {
    refuse(cat(operand, " = [", rows, ", ", cols, "] has more than ",
               std::numeric_limits<std::int64_t>::max(), " bytes"));
  }
}

void check_extent(const char* name, std::int64_t extent) {
  if (extent > kMaxExtent) {
    refuse(cat(name, " is ", extent, "; a kernel counts in 32 bits, up to ", kMaxExtent));
  }
}

void check_extents(const Problem& problem) {
  check_extent("m", problem.m);
  check_extent("k", problem.k);
  for (const std::int64_t n : problem.n) check_extent("n", n);
  if (problem.m < 1) refuse(cat("m is ", problem.m, "; give at least one row of x"));
  if (problem.k < 1) refuse(cat("k is ", problem.k, "; give at least one column of x"));
  if (problem.n.empty()) refuse("there is no right side; give n of at least one");
  const int num_devices = problem.num_devices();
  for (const std::int64_t n : problem.n) {
    if (n < 1 || n % num_devices != 0) {
      const std::int64_t above = n < 1 ? num_devices : round_up(n, num_devices);
      refuse(cat("n is ", n, "; y is split by columns over ", num_devices,
                 num_devices == 1 ? " device" : " devices", ", so n must be a multiple of ",
                 num_devices, ", as ", above));
    }
    check_bytes("y [k, n]", problem.k, n, 4);
    check_bytes("out [m, n]", problem.m, n, 4);
  }
  check_bytes("x [m, k]", problem.m, problem.k, 4);
}

void check_elements(const Problem& problem) {
  if (problem.element == Element::kS32) {
    refuse("x and y cannot be int32, which is a type of sums; give f32, bf16, fp8 or int8");
  }
  const Element sum = problem.element == Element::kS8 ? Element::kS32 : Element::kF32;
  const Element out = problem.result_element();
  if (out != sum && out != problem.element) {
    refuse(cat("the product of ", element_name(problem.element), " cannot be returned as ",
               element_name(out), "; give ", element_name(sum), ", the type of its sums, or ",
               element_name(problem.element)));
  }
}

}  // namespace

std::string_view schedule_name(Schedule schedule) {
  return kScheduleNames[static_cast<std::size_t>(schedule)];
}

Schedule parse_schedule(std::string_view name) {
  for (std::size_t i = 0; i < kScheduleNames.size(); ++i) {
    if (kScheduleNames[i] == name) return static_cast<Schedule>(i);
  }
  refuse(cat("no schedule '", name, "'; there are auto, reference, wavefront and sequential"));
}

int Problem::num_devices() const { return mesh.at(static_cast<std::size_t>(axis)); }

Element Problem::result_element() const {
  return out_element.value_or(element == Element::kS8 ? Element::kS32 : element);
}

void check(const Problem& problem) {
  check_mesh(problem);
  check_extents(problem);
  check_elements(problem);
}

}  // namespace cmm::tpu
