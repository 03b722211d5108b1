// The smallest use of the library so far: the element types and their exact conversions.
#include <cmm/dtype.hpp>
#include <iostream>

int main() {
  const cmm::BFloat16 rounded = cmm::to_bf16(1.0f / 3.0f);
  std::cout << "1/3 as " << cmm::dtype_name(cmm::DType::kBF16) << ": " << cmm::to_float(rounded)
            << '\n';
}
