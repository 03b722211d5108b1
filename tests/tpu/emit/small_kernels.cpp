#include "tpu/emit/small_kernels.hpp"

#include <utility>

#include "tpu/kernels/reference.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu::test {
namespace {

Kernel kernel_of(const WavefrontCase& c, const Chip& chip) {
  return wavefront_kernel(cmm::test::simple_schedule(c.shape), c.options, chip);
}

Kernel wavefront(const Chip& chip) {
  const Extents asked = {.m = 32, .k = 128, .cols = {128}};
  return kernel_of(small_case("plain", options_of({.mesh = {2}}, asked)), chip);
}

Kernel wavefront_through_hbm(const Chip& chip) {
  const Extents asked = {.m = 60, .k = 250, .cols = {128, 100}};
  WavefrontOptions options = options_of({.mesh = {2, 2}, .axis = 1}, asked);
  options.debug = true;
  WavefrontCase c = small_case("through hbm", std::move(options));
  c.shape.x_home = schedule::XHome::kHbm;
  c.shape.x_slots = 2;
  c.shape.block_k = 128;
  c.shape.gathered = true;
  return kernel_of(c, chip);
}

}  // namespace

std::vector<SmallKernel> small_kernels() {
  const Chip chip = chip_of_generation(6);
  const ReferenceOptions plain = {.ring = {.mesh = {2}},
                                  .m = 32,
                                  .k = 128,
                                  .n = 256,
                                  .element = Element::kBF16,
                                  .bn = 128,
                                  .bk = 128};
  const ReferenceOptions transposed = {.ring = {.mesh = {4}},
                                       .m = 256,
                                       .k = 256,
                                       .n = 512,
                                       .element = Element::kS8,
                                       .bn = 128,
                                       .bk = 128,
                                       .rhs_transposed = true};
  std::vector<SmallKernel> kernels;
  kernels.push_back({"reference", reference_kernel(plain, chip), chip});
  kernels.push_back({"reference_transposed_int8", reference_kernel(transposed, chip), chip});
  kernels.push_back({"wavefront", wavefront(chip), chip});
  kernels.push_back({"wavefront_through_hbm", wavefront_through_hbm(chip), chip});
  return kernels;
}

}  // namespace cmm::tpu::test
