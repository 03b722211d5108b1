// How Mosaic and StableHLO write types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu::emit {

std::string_view element_text(Element element);  // "bf16", "f8E4M3FN", "i8"
std::string_view memory_text(Memory memory);     // "hbm"

// "memref<8x128xbf16, #tpu.memory_space<vmem>>"
std::string memref_text(const std::vector<std::int64_t>& shape, std::string_view element,
                        std::string_view memory);
std::string vector_text(const VectorType& type);  // "vector<8x128xf32>"
std::string tensor_text(const std::vector<std::int64_t>& shape, std::string_view element);

}  // namespace cmm::tpu::emit
