// Meshes whose ranks are processes that meet by a socket in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cmm/cmm.hpp"
#include "support/process_ranks.hpp"
#include "support/scratch.hpp"

namespace cmm::test {

inline constexpr std::chrono::milliseconds kLimit{60'000};

class Processes : public testing::Test {
 protected:
  ~Processes() override { EXPECT_TRUE(scratch_.names().empty()) << "something was left behind"; }
  std::string path() const { return scratch_.file("meet"); }
  ProcessOptions options(int rank, int num_ranks) const {
    return {.socket = path(),
            .rank = rank,
            .num_ranks = num_ranks,
            .token = "",
            .deadline = std::chrono::seconds(20)};
  }

  Scratch scratch_;
};

// The text of the error that the body ends with; its code must be `code`.
inline std::string error_of(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no\n" << part;
}

// x of rank r holds r + 1 everywhere, y is the identity: out shows whose rows came where.
inline void multiply(const Axis& axis, const MatrixView<const float>& x) {
  const std::int64_t rows = x.rows, k = x.cols, m = rows * axis.num_ranks();
  std::vector<float> y(static_cast<std::size_t>(k * k)), out(static_cast<std::size_t>(m * k));
  for (std::int64_t i = 0; i < k; ++i) y[static_cast<std::size_t>(i * k + i)] = 1;
  const auto weights = Weights::pack(MatrixView<const float>(y.data(), k, k));
  const auto plan = Plan::make(axis, {.m = m, .k = k, .n_local = {k}});
  for (int call = 0; call < 3; ++call) {
    std::fill(out.begin(), out.end(), -1.0f);
    all_gather_matmul(plan, x, weights, MatrixView<float>(out.data(), m, k));
    for (std::int64_t i = 0; i < m * k; ++i) {
      ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(i / (rows * k) + 1));
    }
  }
}

inline void multiply_on_heap(const Axis& axis) {
  const std::vector<float> x(std::size_t{8} * 16, static_cast<float>(axis.rank() + 1));
  multiply(axis, {x.data(), 8, 16});
}

}  // namespace cmm::test
