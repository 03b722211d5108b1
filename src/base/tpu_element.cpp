#include <array>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_chip.hpp"

namespace cmm::tpu {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"f32", "bf16", "fp8", "int8", "int32"};

}  // namespace

std::string_view element_name(Element element) { return kNames[static_cast<std::size_t>(element)]; }

Element parse_element(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Element>(i);
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("no element type '", name, "'; there are f32, bf16, fp8, int8 and int32"));
}

}  // namespace cmm::tpu
