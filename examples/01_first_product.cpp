// One product on four ranks of this process: x is split by rows, y by columns, and each rank gets
// its columns of the whole product.
#include <cmm/cmm.hpp>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  constexpr std::int64_t m = 1024, k = 512, n = 2048;
  std::vector<float> x(m * k), y(k * n), out(m * n);
  for (std::int64_t i = 0; i < m * k; ++i) x[i] = static_cast<float>(i % 7 - 3);
  for (std::int64_t i = 0; i < k * n; ++i) y[i] = static_cast<float>(i % 5 - 2);

  // [README]
  cmm::run_ranks({{"tp", 4}}, [&](cmm::Mesh& mesh) {
    const cmm::Axis tp = mesh.axis("tp");
    const std::int64_t rows = m / 4, cols = n / 4, r = tp.rank();
    const cmm::MatrixView<const float> x_local(&x[r * rows * k], rows, k);  // [m/P, k]
    const cmm::MatrixView<const float> y_local(&y[r * cols], k, cols, n);   // [k, n/P] of [k, n]
    const cmm::MatrixView<float> out_local(&out[r * cols], m, cols, n);     // [m, n/P] of [m, n]
    const auto weights = cmm::Weights::pack(y_local);                       // once per layer
    const auto plan = cmm::Plan::make(tp, {.m = m, .k = k, .n_local = {cols}});  // once per shape
    cmm::all_gather_matmul(plan, x_local, weights, out_local);
  });
  // [README]

  // Whole numbers this small have exact sums, so the product must match to the last bit.
  for (const std::int64_t i : {std::int64_t{0}, m / 3, m - 1}) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += double{x[i * k + l]} * double{y[l * n + j]};
      if (out[i * n + j] != static_cast<float>(sum)) {
        std::cout << "out[" << i << ", " << j << "] is " << out[i * n + j] << ", not " << sum
                  << '\n';
        return 1;
      }
    }
  }
  std::cout << "[" << m << ", " << k << "] x [" << k << ", " << n << "] on 4 ranks: right\n";
}
