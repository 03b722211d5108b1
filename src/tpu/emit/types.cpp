#include "tpu/emit/types.hpp"

#include <array>

#include "base/text.hpp"

namespace cmm::tpu::emit {
namespace {

std::string extents_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += std::to_string(extent) + "x";
  return text;
}

}  // namespace

std::string_view element_text(Element element) {
  constexpr std::array<std::string_view, 5> kNames = {"f32", "bf16", "f8E4M3FN", "i8", "i32"};
  return kNames[static_cast<std::size_t>(element)];
}

std::string_view memory_text(Memory memory) {
  constexpr std::array<std::string_view, 3> kNames = {"hbm", "vmem", "smem"};
  return kNames[static_cast<std::size_t>(memory)];
}

std::string memref_text(const std::vector<std::int64_t>& shape, std::string_view element,
                        std::string_view memory) {
  return cat("memref<", extents_text(shape), element, ", #tpu.memory_space<", memory, ">>");
}

std::string vector_text(const VectorType& type) {
  return cat("vector<", extents_text(type.shape), element_text(type.element), ">");
}

std::string tensor_text(const std::vector<std::int64_t>& shape, std::string_view element) {
  return cat("tensor<", extents_text(shape), element, ">");
}

}  // namespace cmm::tpu::emit
