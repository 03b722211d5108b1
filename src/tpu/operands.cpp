#include "tpu/operands.hpp"

#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "tpu/numbers.hpp"
#include "tpu/parts.hpp"

namespace cmm::tpu {
namespace {

// splitmix64: a well mixed number for each.
std::uint64_t mix(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

// The largest magnitude of operands. Sums must be exact: 64 k stays below 2^24 up to k = 2^18, and
// where k is larger, 1 will do. Those that are rounded to fp8 should seldom pass 448, beyond which
// all are NaN: a sum of k products of numbers from -b .. b deviates by b^2 sqrt(k) / 3.
std::uint64_t largest_operand(const Kernel& kernel) {
  const auto k = static_cast<double>(kernel.asked.k);
  std::uint64_t largest = 64 * k < 0x1p24 ? 8 : 1;
  if (kernel.out_element == Element::kF8E4M3) {
    while (largest > 1 && static_cast<double>(largest * largest) * std::sqrt(k) > 448) --largest;
  }
  return largest;
}

Array random_matrix(const Kernel& kernel, std::size_t bytes, std::uint64_t seed) {
  const std::uint64_t largest = largest_operand(kernel);
  Array matrix(bytes);
  const auto step = static_cast<std::size_t>(element_bytes(kernel.element));
  for (std::size_t at = 0; at < bytes; at += step) {
    const auto value =
        static_cast<int>(mix(seed + at) % (2 * largest + 1)) - static_cast<int>(largest);
    if (is_integer(kernel.element)) {
      store_integer(kernel.element, value, matrix.data() + at);
    } else {
      store_float(kernel.element, static_cast<float>(value), matrix.data() + at);
    }
  }
  return matrix;
}

std::string value_text(Element element, const std::byte* at) {
  return is_integer(element) ? cat(load_integer(element, at)) : cat(load_float(element, at));
}

Fault wrong_element(Element element, const std::string& output, int device, const ElementAt& at) {
  return {.kind = Fault::Kind::kWrongElement,
          .device = device,
          .text = cat(output, "[", at.row, ", ", at.col, "] is ", value_text(element, at.padded),
                      " on device ", device, " and must be ", value_text(element, at.whole))};
}

}  // namespace

Operands make_operands(const Kernel& kernel, std::uint64_t seed) {
  Operands operands;
  operands.x =
      random_matrix(kernel, matrix_bytes(part_of_x(kernel, 0).whole, kernel.element), mix(seed));
  for (std::size_t i = 0; i < kernel.asked.cols.size(); ++i) {
    const std::size_t bytes = matrix_bytes(part_of_y(kernel, 0, i).whole, kernel.element);
    operands.y.push_back(random_matrix(kernel, bytes, mix(mix(seed) + i + 1)));
  }
  return operands;
}

int num_rings(const Ring& ring) { return ring.num_devices() / ring.size(); }

PlaceOnRing place_on_ring(const Ring& ring, int device) {
  const int stride = ring.stride();
  return {.ring = device / (stride * ring.size()) * stride + device % stride,
          .index = device / stride % ring.size()};
}

std::vector<std::vector<Array>> lay_out(const Kernel& kernel, const std::vector<Operands>& rings) {
  std::vector<std::vector<Array>> inputs;
  for (int device = 0; device < kernel.ring.num_devices(); ++device) {
    const auto [ring, index] = place_on_ring(kernel.ring, device);
    const Operands& operands = rings[static_cast<std::size_t>(ring)];
    std::vector<Array>& of_device = inputs.emplace_back();
    if (!kernel.table.empty()) {
      Array& table = of_device.emplace_back(kernel.table.size() * sizeof(std::int32_t));
      std::memcpy(table.data(), kernel.table.data(), table.size());
    }
    const auto add = [&](const Part& part, const Array& whole) {
      Array& padded = of_device.emplace_back(matrix_bytes(part.padded, kernel.element));
      copy_to_device(part, kernel.element, whole, padded);
    };
    add(part_of_x(kernel, index), operands.x);
    for (std::size_t i = 0; i < operands.y.size(); ++i) {
      add(part_of_y(kernel, index, i), operands.y[i]);
    }
  }
  return inputs;
}

std::vector<Results> put_together(const Kernel& kernel,
                                  const std::vector<std::vector<Array>>& outputs) {
  std::vector<Results> rings(static_cast<std::size_t>(num_rings(kernel.ring)));
  const std::size_t num_outs = kernel.asked.cols.size();
  for (int device = 0; device < kernel.ring.num_devices(); ++device) {
    const auto [ring, index] = place_on_ring(kernel.ring, device);
    Results& results = rings[static_cast<std::size_t>(ring)];
    const std::vector<Array>& of_device = outputs[static_cast<std::size_t>(device)];
    results.out.resize(num_outs);
    for (int owner = 0; owner < kernel.ring.size(); ++owner) {
      for (std::size_t i = 0; i < num_outs; ++i) {
        const Part part = part_of_out(kernel, index, i, owner);
        results.out[i].resize(matrix_bytes(part.whole, kernel.out_element));
        copy_from_device(part, kernel.out_element, of_device[i], results.out[i]);
      }
      if (!kernel.gathered) continue;
      const Part part = part_of_gathered(kernel, owner);
      results.gathered.resize(matrix_bytes(part.whole, kernel.element));
      copy_from_device(part, kernel.element, of_device[num_outs], results.gathered);
    }
  }
  return rings;
}

Expectation::Expectation(const Kernel& kernel, std::uint64_t seed) {
  for (int ring = 0; ring < num_rings(kernel.ring); ++ring) {
    operands_.push_back(make_operands(kernel, mix(seed) + static_cast<std::uint64_t>(ring)));
    results_.push_back(plain_results(kernel, operands_.back()));
  }
}

std::vector<std::vector<Array>> Expectation::inputs(const Kernel& kernel) const {
  return lay_out(kernel, operands_);
}

std::optional<Fault> Expectation::compare(const Kernel& kernel,
                                          const std::vector<std::vector<Array>>& outputs) const {
  const std::size_t num_outs = kernel.asked.cols.size();
  for (int device = 0; device < kernel.ring.num_devices(); ++device) {
    const auto [ring, index] = place_on_ring(kernel.ring, device);
    const Results& results = results_[static_cast<std::size_t>(ring)];
    const std::vector<Array>& of_device = outputs[static_cast<std::size_t>(device)];
    for (int owner = 0; owner < kernel.ring.size(); ++owner) {
      for (std::size_t i = 0; i < num_outs; ++i) {
        const std::string name = num_outs == 1 ? "out" : cat("out of right side ", i, " ");
        if (const auto at = first_difference(part_of_out(kernel, index, i, owner),
                                             kernel.out_element, of_device[i], results.out[i])) {
          return wrong_element(kernel.out_element, name, device, *at);
        }
      }
      if (!kernel.gathered) continue;
      if (const auto at = first_difference(part_of_gathered(kernel, owner), kernel.element,
                                           of_device[num_outs], results.gathered)) {
        return wrong_element(kernel.element, "gathered x", device, *at);
      }
    }
  }
  return std::nullopt;
}

}  // namespace cmm::tpu
