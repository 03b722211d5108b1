// From a shape to a kernel for TPUs, without a TPU: is the call right, how long will it take, and
// is the kernel right?
#include <cmm/cmm.hpp>
#include <iostream>

int main() {
  namespace tpu = cmm::tpu;
  const tpu::Chip& chip = tpu::chip("v6e");

  // 1. A call of the JAX function, by its shapes: x [m, k] and y [k, n], over the axis "tp".
  tpu::Call call;
  call.x_shape = {1024, 5120};
  call.y_shape = {5120, 51200};
  call.mesh = {{"dp", 2}, {"tp", 8}};
  call.axis_name = "tp";
  try {
    tpu::Call wrong = call;
    wrong.bn = 1024;
    tpu::validate_inputs(wrong, chip);
    return 1;
  } catch (const cmm::Error& error) {
    std::cout << "refused: " << error.what() << "\n\n";
  }
  const tpu::Problem problem = tpu::problem_of(call, chip);

  // 2. The kernels side by side, by the model of the chip.
  const tpu::Simulation simulation = tpu::simulate(problem, chip);
  for (const tpu::KernelTimes& times : simulation.kernels) {
    std::cout << tpu::schedule_name(times.schedule) << ": " << times.seconds * 1e6 << " us, "
              << times.share_of_bound * 100 << " % of the bound\n";
  }
  std::cout << "chosen: " << tpu::schedule_name(simulation.chosen) << "\n\n";

  // 3. The kernel, run on virtual devices with data. A small shape shows the same waits and slots.
  tpu::Problem small = problem;
  small.mesh = {4};
  small.axis = 0;
  small.m = 100;
  small.k = 256;
  small.n = {1024};
  const tpu::Verification verdict = tpu::verify(small, chip);
  std::cout << verdict.kernel.name << ": " << (verdict.right ? "right" : verdict.text) << " in "
            << verdict.num_runs << " runs\n";
  return verdict.right ? 0 : 1;
}
