// Writes operands, and what our kernels make of them on virtual devices, for compare_with_jax.py.
//
// usage: tpu_oracle DIRECTORY NUM_DEVICES
//
// For each case DIRECTORY/NAME/ gets x, y, and the results `reference` and `wavefront`; all is
// row-major, as it lies in memory. DIRECTORY/cases.txt lists the cases. Exit code 1, and the fault,
// where a kernel shows one.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/text.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/numbers.hpp"
#include "tpu/operands.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

struct Case {
  int num_devices;
  Element element;
  int num_blocks;  // in n, and in k
  bool transposed;
  // Small integers; or integers of 8 bits, all that bf16 has, whose sums over k = 256 still are
  // exact in f32. JAX adds products in an order of its own: other operands would be rounded
  // otherwise.
  bool all_bits;

  std::int64_t m() const { return 16 * num_devices; }
  std::int64_t k() const { return 128 * num_blocks; }
  std::int64_t n() const { return std::int64_t{128} * num_blocks * num_devices; }
  std::string name() const {
    return cat("P", num_devices, "_", element_name(element), "_", num_blocks, "x", num_blocks,
               transposed ? "_transposed" : "", all_bits ? "_all_bits" : "");
  }
};

Kernel reference_of(const Case& of, const Chip& chip) {
  return reference_kernel({.ring = {{of.num_devices}, 0},
                           .m = of.m(),
                           .k = of.k(),
                           .n = of.n(),
                           .element = of.element,
                           .bn = 128,
                           .bk = 128,
                           .rhs_transposed = of.transposed},
                          chip);
}

// x goes on from slot to slot, or with several k blocks through HBM.
Kernel wavefront_of(const Case& of, const Chip& chip) {
  WavefrontOptions options = test::options_of(
      {{of.num_devices}, 0}, {of.m(), of.k(), {of.n() / of.num_devices}}, of.element);
  options.rhs_transposed = of.transposed;
  test::WavefrontCase wavefront = test::small_case(of.name(), options);
  if (of.num_blocks > 1) {
    wavefront.shape.x_home = schedule::XHome::kHbm;
    wavefront.shape.x_slots = 2;
    wavefront.shape.block_k = 128;
  }
  return wavefront_kernel(cmm::test::simple_schedule(wavefront.shape), options, chip);
}

// From -255 to 255 by a plain generator.
void fill_with_all_bits(Array& matrix, Element element, std::uint32_t seed) {
  const auto bytes = static_cast<std::size_t>(element_bytes(element));
  for (std::size_t at = 0; at < matrix.size(); at += bytes) {
    seed = seed * 1664525u + 1013904223u;
    store_float(element, static_cast<float>(static_cast<int>((seed >> 16) % 511) - 255),
                matrix.data() + at);
  }
}

void write(const std::filesystem::path& path, const Array& array) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(array.data()),
             static_cast<std::streamsize>(array.size()));
  if (!file.flush()) throw std::runtime_error(cat("cannot write ", path));
}

Array out_of(const Kernel& kernel, const Chip& chip, const Operands& operands) {
  const RunResult result =
      run(kernel.program, chip, lay_out(kernel, {operands}), {.copies = CopyMode::kRandom});
  if (result.fault) throw std::runtime_error(cat(kernel.program.name, ": ", result.fault->text));
  return put_together(kernel, result.outputs)[0].out[0];
}

void write_case(const Case& of, const std::filesystem::path& directory) {
  const Chip chip = test::chip_of_generation(6);
  const Kernel reference = reference_of(of, chip);
  Operands operands = make_operands(reference, 1);
  if (of.all_bits) {
    fill_with_all_bits(operands.x, of.element, 1);
    fill_with_all_bits(operands.y[0], of.element, 2);
  }
  std::filesystem::create_directories(directory);
  write(directory / "x", operands.x);
  write(directory / "y", operands.y[0]);
  write(directory / "reference", out_of(reference, chip, operands));
  write(directory / "wavefront", out_of(wavefront_of(of, chip), chip, operands));
}

int run_all(const std::filesystem::path& directory, int num_devices) {
  std::filesystem::create_directories(directory);
  std::ofstream list(directory / "cases.txt");
  for (const Element element : {Element::kBF16, Element::kF32}) {
    for (const bool all_bits : {false, true}) {
      if (all_bits && element != Element::kBF16) continue;
      for (const int num_blocks : {1, 2}) {
        for (const bool transposed : {false, true}) {
          const Case of = {num_devices, element, num_blocks, transposed, all_bits};
          write_case(of, directory / of.name());
          list << of.name() << ' ' << of.m() << ' ' << of.k() << ' ' << of.n() << ' ' << num_devices
               << ' ' << element_name(element) << " 128 128 "
               << (transposed ? "transposed" : "plain") << '\n';
        }
      }
    }
  }
  return list.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace cmm::tpu

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tpu_oracle DIRECTORY NUM_DEVICES\n";
    return 2;
  }
  try {
    return cmm::tpu::run_all(argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    std::cerr << "tpu_oracle: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
