// Random problems on random ranks with random mischief, as many as a test asks for. A case is
// wholly given by its seed, which a failure prints.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "support/distributed.hpp"
#include "support/mischief.hpp"

namespace cmm::test {

struct RandomCase {
  Problem problem;
  Options options;
  int num_ranks = 1;
  int num_calls = 1;
  double delay_share = 0;
  int failing_rank = -1;
  int throw_at = -1;
};

inline RandomCase random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto upto = [&](int low, int high) {
    return std::uniform_int_distribution<>(low, high)(random);
  };
  const auto pick = [&](auto... choices) {
    const std::common_type_t<decltype(choices)...> all[] = {choices...};
    return all[upto(0, static_cast<int>(sizeof...(choices)) - 1)];
  };
  RandomCase c;
  c.num_ranks = pick(1, 2, 2, 3, 4, 5, 7, 8);
  c.problem.seed = seed;
  c.problem.k = pick(0, 1, 2, 7, 16, 31, 64, 131, 257);
  c.problem.dtype = pick(DType::kF32, DType::kBF16, DType::kF16);
  c.problem.out_dtype = pick(DType::kF32, DType::kBF16, DType::kF16);
  c.problem.bias = upto(0, 1) == 1;
  c.problem.transposed = upto(0, 1) == 1;
  c.problem.gathered = upto(0, 2) == 0;
  c.problem.swiglu = upto(0, 4) == 0;
  const int num_sides = c.problem.swiglu ? 2 : pick(1, 1, 1, 2, 3);
  c.problem.n.assign(1, pick(0, 1, 5, 32, 33, 64, 97, 130));
  while (static_cast<int>(c.problem.n.size()) < num_sides) {
    c.problem.n.push_back(c.problem.swiglu ? c.problem.n[0] : upto(0, 70));
  }
  if (!c.problem.swiglu && upto(0, 2) == 0) {
    for (int side = 0; side < num_sides; ++side) {
      c.problem.activations.push_back(pick(Activation::kNone, Activation::kRelu,
                                           Activation::kGeluTanh, Activation::kGeluErf,
                                           Activation::kSilu));
    }
  }
  if (upto(0, 1) == 0) {
    c.problem.m = pick(0, 1, 2, 3, 8, 15, 16, 17, 40, 64, 100);
  } else {
    c.problem.m = 0;
    for (int rank = 0; rank < c.num_ranks; ++rank) {
      c.problem.rows.push_back(pick(0, 0, 1, 3, 10, 33));
      c.problem.m += c.problem.rows.back();
    }
  }
  c.options.algorithm =
      pick(Algorithm::kAuto, Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional,
           Algorithm::kRecursiveDoubling, Algorithm::kHierarchical);
  if (c.options.algorithm == Algorithm::kHierarchical) c.options.hosts = upto(1, c.num_ranks);
  c.options.pieces = upto(0, 4);
  c.options.threads = pick(1, 1, 2, 3);
  c.options.isa = pick(Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16);
  if (!isa_supported(*c.options.isa)) c.options.isa = default_isa();
  c.options.deadline = std::chrono::seconds(60);
  c.num_calls = upto(1, 3);
  c.delay_share = pick(0.0, 0.0, 0.1, 0.5);
  if (upto(0, 3) == 0) {
    c.failing_rank = upto(0, c.num_ranks - 1);
    c.throw_at = upto(0, 12);
  }
  c.problem.given = pick(Given::kPacked, Given::kView, Given::kMixed);
  return c;
}

inline Plan make_plan(const RandomCase& c, const Axis& axis, const RankData& data) {
  Options options = c.options;
  options.activations = c.problem.activations;
  options.swiglu = c.problem.swiglu;
  return Plan::make(axis, data.shape(), options);
}

// What became of one rank: its data lives no longer than its calls, so that a peer that still
// reads it is caught by the guard pages or the address sanitizer.
struct Outcome {
  std::string difference;
  bool sabotaged = false;
  std::unique_ptr<Error> error;
  std::unique_ptr<Error> second;  // of a further call
};

inline void run_rank(const RandomCase& c, const Reference& reference, const Axis& axis,
                     Outcome& outcome) {
  Mischief mischief({.seed = reference.problem().seed + static_cast<unsigned>(axis.rank()),
                     .delay_share = c.delay_share,
                     .delay = std::chrono::microseconds(800),
                     .throw_at = axis.rank() == c.failing_rank ? c.throw_at : -1});
  auto data = std::make_unique<RankData>(reference, axis);
  const Plan plan = make_plan(c, axis, *data);
  mischief.attach(plan);
  try {
    for (int call = 0; call < c.num_calls && outcome.difference.empty(); ++call) {
      data->call(plan);
      outcome.difference = data->difference();
    }
  } catch (const Sabotage&) {
    outcome.sabotaged = true;
  } catch (const Error& error) {
    outcome.error = std::make_unique<Error>(error);
  }
  data.reset();
  if (!outcome.sabotaged && outcome.error == nullptr) return;
  try {
    RankData again(reference, axis);
    again.call(plan);
  } catch (const Error& error) {
    outcome.second = std::make_unique<Error>(error);
  }
}

inline void check_outcomes(const RandomCase& c, const std::vector<Outcome>& outcomes) {
  bool any_sabotage = false;
  for (const Outcome& outcome : outcomes) any_sabotage = any_sabotage || outcome.sabotaged;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const Outcome& outcome = outcomes[rank];
    EXPECT_EQ(outcome.difference, "");
    if (outcome.error != nullptr) {
      EXPECT_TRUE(any_sabotage) << outcome.error->what();
      EXPECT_EQ(outcome.error->code(), ErrorCode::kPeerFailed) << outcome.error->what();
      EXPECT_EQ(outcome.error->rank(), c.failing_rank);
      EXPECT_EQ(std::string(outcome.error->what()),
                cat("rank ", c.failing_rank, " was interrupted in a call: sabotage"));
    }
    if (outcome.sabotaged || outcome.error != nullptr) {
      ASSERT_NE(outcome.second, nullptr) << "a call on a dead mesh went through";
      EXPECT_EQ(outcome.second->code(), ErrorCode::kMeshDead) << outcome.second->what();
    }
  }
}

inline void run_random_case(unsigned seed) {
  SCOPED_TRACE(cat("seed ", seed));
  const RandomCase c = random_case(seed);
  const Reference reference(c.problem, sum_rule(*c.options.isa, c.problem.dtype));
  std::vector<Outcome> outcomes(static_cast<std::size_t>(c.num_ranks));
  run_ranks({{"tp", c.num_ranks}}, [&](Mesh& mesh) {
    run_rank(c, reference, mesh.axis("tp"), outcomes[static_cast<std::size_t>(mesh.rank())]);
  });
  check_outcomes(c, outcomes);
}

}  // namespace cmm::test
