#include "tpu/aot/compile_matrix.hpp"

#include <utility>

#include "base/text.hpp"
#include "sim/chips.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu::test {
namespace {

constexpr int kRingSizes[] = {2, 3, 4, 8, 16};

// Chips and types that go together, each with and without transposed right sides; `index` counts.
template <class Make>
std::vector<CompileCase> over_chips_and_types(const Make& make) {
  std::vector<CompileCase> cases;
  for (const Chip& chip : sim::builtin_chips()) {
    for (const Element element : {Element::kBF16, Element::kF32, Element::kS8, Element::kF8E4M3}) {
      if (!multiplies(chip, element)) continue;
      for (const bool transposed : {false, true}) {
        const int index = static_cast<int>(cases.size());
        const int num_devices = kRingSizes[index % 5];
        CompileCase c{.name = cat(chip.name, "_", element_name(element), "_P", num_devices,
                                  transposed ? "_transposed" : ""),
                      .chip = chip,
                      .kernel = make(chip, element, transposed, num_devices, index)};
        c.wrapper = static_cast<emit::Wrapper>(index % 3);
        c.form = index % 7 == 3 ? emit::BodyForm::kBytecode : emit::BodyForm::kText;
        cases.push_back(std::move(c));
      }
    }
  }
  return cases;
}

}  // namespace

std::vector<CompileCase> reference_cases() {
  return over_chips_and_types(
      [](const Chip& chip, Element element, bool transposed, int num_devices, int index) {
        ReferenceOptions options{.ring = {.mesh = {num_devices}},
                                 .m = 64 * num_devices,
                                 .k = 256,
                                 .n = 256 * num_devices,
                                 .element = element,
                                 .bn = index % 2 == 0 ? 128 : 256,
                                 .bk = index % 3 == 0 ? 256 : 128,
                                 .rhs_transposed = transposed};
        if (index % 4 == 1) options.ring = {.mesh = {num_devices, 2}, .axis = 0};
        return reference_kernel(options, chip);
      });
}

std::vector<CompileCase> wavefront_cases() {
  return over_chips_and_types(
      [](const Chip& chip, Element element, bool transposed, int num_devices, int index) {
        Ring ring{.mesh = {num_devices}};
        if (index % 4 == 2) ring = {.mesh = {2, num_devices}, .axis = 1};
        // Rows, k and columns that fill no tile.
        Extents asked{.m = 120 * num_devices + 1, .k = 300, .cols = {250}};
        if (index % 3 == 1) asked.cols = {256, 100};
        WavefrontOptions options = options_of(std::move(ring), std::move(asked), element);
        options.rhs_transposed = transposed;
        if (element == Element::kBF16 && index % 2 == 1) options.out_element = Element::kF32;
        WavefrontCase c = small_case("", std::move(options), chip.generation);
        schedule::TileShape& shape = c.shape;
        // Two groups of two pieces a hop.
        shape.side_rows = 32;
        shape.piece_rows = shape.row_tile == 32 ? 32 : 16;
        shape.gathered = index % 2 == 0;
        if (index % 3 == 0) {
          shape.x_home = schedule::XHome::kHbm;
          shape.block_k = shape.k / 3;
          shape.x_slots = 4;
          shape.bodies.push_back({.groups = 2, .blocks = 1});
        } else if (index % 3 == 1) {
          shape.x_slots = static_cast<int>(2 * shape.num_groups());  // of all: with credits
          shape.y_slots = 2;
          shape.bodies.push_back({.groups = 2, .blocks = 2});
        } else {
          shape.x_slots = static_cast<int>(shape.num_devices * shape.num_groups());
          shape.bodies.push_back({.groups = 1, .blocks = 2, .free = true});
        }
        return wavefront_kernel(cmm::test::simple_schedule(shape), c.options, chip);
      });
}

}  // namespace cmm::tpu::test
