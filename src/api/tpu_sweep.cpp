// Kernels of all kinds, small enough that all of them are verified in a minute.
#include <algorithm>

#include "base/text.hpp"
#include "cmm/tpu_call.hpp"
#include "cmm/tpu_verify.hpp"

namespace cmm::tpu {
namespace {

constexpr int kMaxSweptDevices = 9;
constexpr Element kElements[] = {Element::kF32, Element::kBF16, Element::kF8E4M3, Element::kS8};

KernelOptions with(Schedule schedule) {
  KernelOptions options;
  options.schedule = schedule;
  return options;
}

class Cases {
 public:
  explicit Cases(const Chip& chip) : chip_(chip) {}

  void add(const Problem& problem, const KernelOptions& options, const std::string& what = "") {
    const std::string mesh = joined(problem.mesh, "x");
    cases_.push_back(
        {cat(schedule_name(options.schedule), " ", element_name(problem.element), " ",
             problem.mesh.size() > 1 ? cat("axis ", problem.axis, " of ", mesh) : "P=" + mesh,
             " m=", problem.m, " k=", problem.k, " n=", joined(problem.n, ","),
             problem.rhs_transposed ? " transposed" : "", problem.gathered ? " gathered" : "",
             what.empty() ? "" : ", ", what),
         problem, options});
  }
  const Chip& chip() const { return chip_; }
  std::vector<SweepCase> take() { return std::move(cases_); }

 private:
  const Chip& chip_;
  std::vector<SweepCase> cases_;
};

// Ragged in all three extents; what else a problem can ask for comes and goes with P and type.
void add_wavefront(Cases& cases, int num_devices, Element element) {
  const int variant = num_devices + static_cast<int>(element);
  Problem problem;
  problem.mesh = {num_devices};
  problem.m = 13 * num_devices + 5;
  problem.k = variant % 2 == 0 ? 200 : 384;
  problem.n = {150 * num_devices};
  if (variant % 3 == 0) problem.n.push_back(128 * num_devices);
  problem.element = element;
  problem.rhs_transposed = variant % 2 == 1;
  problem.gathered = variant % 4 < 2;
  cases.add(problem, with(Schedule::kWavefront));
}

// Whole tiles only; one block and several, in n and in k.
void add_reference(Cases& cases, int num_devices, Element element) {
  const int variant = num_devices + static_cast<int>(element);
  Problem problem;
  problem.mesh = {num_devices};
  problem.m = 2 * num_devices * sublane_rows(cases.chip().generation, element);
  problem.k = 256;
  problem.n = {256 * num_devices};
  problem.element = element;
  problem.out_element = element;
  problem.rhs_transposed = variant % 2 == 1;
  KernelOptions options = with(Schedule::kReference);
  options.bn = variant % 3 == 0 ? 256 : 128;
  options.bk = variant % 4 < 2 ? 256 : 128;
  cases.add(problem, options, cat("bn=", options.bn, " bk=", options.bk));
}

// Rings along each axis of a mesh run beside each other.
void add_meshes(Cases& cases) {
  for (const auto& [mesh, axis] : {std::pair{std::vector{2, 4}, 0},
                                   {std::vector{2, 4}, 1},
                                   {std::vector{3, 2}, 0},
                                   {std::vector{2, 3, 2}, 1}}) {
    Problem problem;
    problem.mesh = mesh;
    problem.axis = axis;
    const int num_devices = problem.num_devices();
    problem.m = 16 * num_devices;
    problem.k = 128;
    problem.n = {128 * num_devices};
    cases.add(problem, with(Schedule::kWavefront));
    cases.add(problem, with(Schedule::kReference));
  }
}

// Fewer rows than devices, so that some have none; wider results.
void add_small(Cases& cases) {
  Problem problem;
  problem.mesh = {4};
  problem.k = 64;
  problem.n = {40};
  problem.out_element = Element::kF32;
  for (const std::int64_t m : {1, 2, 5, 16}) {
    problem.m = m;
    cases.add(problem, with(Schedule::kWavefront), "out f32");
  }
}

// Forms of the wavefront kernel that small problems do not call for by themselves. `parameters` are
// those in which a form differs from one op at a time with all rows of x in VMEM.
void add_forms(Cases& cases) {
  struct Form {
    const char* what;
    const char* parameters;
  };
  for (const Form& form :
       {Form{"credits",
             "block_k=0 bodies=1x1/2 order=x x_home=vmem x_bytes=32768 passes=1 sends=1 y_parts=1"},
        Form{"x through HBM",
             "block_k=0 bodies=1x1/2 order=x x_home=hbm x_bytes=32768 passes=1 sends=1 y_parts=1"},
        Form{"k in blocks",
             "block_k=128 bodies=1x1/2 order=x x_home=hbm x_bytes=0 passes=1 sends=1 y_parts=1"},
        Form{"three bodies, y twice and in parts",
             "block_k=0 bodies=1x1/2,2f/2,2x2/2 order=y x_home=vmem x_bytes=65536 passes=2 sends=2 "
             "y_parts=2"}}) {
    for (const int num_devices : {2, 3, 5, 8}) {
      Problem problem;
      problem.mesh = {num_devices};
      problem.m = 32 * num_devices;
      problem.k = 256;
      problem.n = {256 * num_devices};
      KernelOptions options = with(Schedule::kWavefront);
      options.parameters = cat("side_rows=8 piece_rows=8 block_cols=128 ", form.parameters,
                               " loads=2 y_ahead=0.8 send_ahead=1 margin_bytes=8388608");
      cases.add(problem, options, form.what);
    }
  }
}

}  // namespace

std::vector<SweepCase> sweep(const Chip& chip) {
  Cases cases(chip);
  for (int num_devices = 1; num_devices <= kMaxSweptDevices; ++num_devices) {
    for (const Element element : kElements) {
      if (!multiplies(chip, element)) continue;
      add_wavefront(cases, num_devices, element);
      if (num_devices > 1) add_reference(cases, num_devices, element);
    }
  }
  add_meshes(cases);
  add_small(cases);
  add_forms(cases);
  return cases.take();
}

}  // namespace cmm::tpu
