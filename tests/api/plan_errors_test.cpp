// What a caller is told when a mesh, weights or a plan cannot be made, or a plan is misused.
#include <gtest/gtest.h>

#include <thread>

#include "run_and_catch.hpp"
#include "support/distributed.hpp"
#include "transport/transport.hpp"

namespace cmm {
namespace {

using namespace std::chrono_literals;
using test::expect_all;
using test::Messages;
using test::run_and_catch;

// Changes one rank's shape or options before the plan is made.
using Change = std::function<void(ProblemShape&, Options&)>;
Messages plan_with_change(const Change& change) {
  return run_and_catch(3, [&](const Axis& axis) {
    ProblemShape shape = {.m = 12, .k = 8, .n_local = {4}};
    Options options;
    if (axis.rank() == 1) change(shape, options);
    bool refused = false;
    std::string message;
    try {
      Plan::make(axis, shape, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      refused = true;
      message = error.what();
    }
    // Nothing has moved, so the mesh goes on.
    const test::Reference reference({.m = 12, .k = 8, .n = {12}}, test::SumRule::kChain);
    test::RankData data(reference, axis);
    data.call(Plan::make(axis, data.shape()));
    EXPECT_EQ(data.difference(), "");
    if (refused) throw Error(ErrorCode::kInvalidArgument, message);
  });
}

TEST(PlanErrors, ADisagreementIsTheSameClearErrorOnEveryRank) {
  const std::string start = "the ranks of axis 'tp' disagree on ";
  expect_all(plan_with_change([](auto& shape, auto&) { shape.k = 9; }),
             start + "k: rank 0 has 8, rank 1 has 9");
  expect_all(plan_with_change([](auto& shape, auto&) { shape.m = 13; }),
             start + "m: rank 0 has 12, rank 1 has 13");
  expect_all(plan_with_change([](auto& shape, auto&) { shape.dtype = DType::kF16; }),
             start + "dtype: rank 0 has f32, rank 1 has f16");
  expect_all(plan_with_change([](auto& shape, auto&) {
               shape.n_local = {4, 4};
             }),
             start + "number of right sides: rank 0 has 1, rank 1 has 2");
  expect_all(plan_with_change([](auto& shape, auto&) {
               shape.rows = {4, 4, 4};
             }),
             start + "rows: rank 0 has even, rank 1 has 4,4,4");
  expect_all(plan_with_change([](auto&, auto& o) { o.algorithm = Algorithm::kRing; }),
             start + "algorithm: rank 0 has auto, rank 1 has ring");
  expect_all(plan_with_change([](auto&, auto& o) { o.pieces = 2; }),
             start + "pieces: rank 0 has 0, rank 1 has 2");
  expect_all(plan_with_change([](auto&, auto& o) { o.hosts = 3; }),
             start + "hosts: rank 0 has 0, rank 1 has 3");
}

TEST(PlanErrors, ARankWithoutAShapeIsToldOf) {
  expect_all(run_and_catch(3,
                           [](const Axis& axis) {
                             if (axis.rank() == 1) Plan::refuse(axis, "no algorithm 'star'");
                             Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}});
                           }),
             "rank 1 of axis 'tp': no algorithm 'star'");
}

TEST(PlanErrors, OneRanksMistakeIsToldToAll) {
  const std::string start = "rank 1 of axis 'tp': ";
  expect_all(plan_with_change([](auto& shape, auto&) { shape.m = -1; }),
             start + "m=-1, k=8: extents must be >= 0");
  expect_all(plan_with_change([](auto& shape, auto&) { shape.n_local = {-4}; }),
             start + "n_local=-4: extents must be >= 0");
  expect_all(plan_with_change([](auto& shape, auto&) { shape.n_local = {}; }),
             start + "n_local is empty; it needs one entry per right side");
  expect_all(plan_with_change([](auto& shape, auto&) { shape.rows = {12}; }),
             start + "rows has 1 entries; the axis has 3 ranks");
  expect_all(plan_with_change([](auto& shape, auto&) {
               shape.rows = {4, 4, 3};
             }),
             start + "rows sum to 11; they must sum to m=12");
  expect_all(plan_with_change([](auto& shape, auto&) {
               shape.rows = {12, 12, 12};
             }),
             start + "rows sum to 24 or more; they must sum to m=12");
  expect_all(plan_with_change([](auto& shape, auto&) {
               shape.rows = {4, -1, 9};
             }),
             start + "rank 1 has rows=-1; it must be between 0 and m=12");
  expect_all(plan_with_change([](auto& shape, auto&) { shape.k = INT64_MAX / 2; }),
             start + cat("m=12, k=", INT64_MAX / 2, ", n_local=4: a size overflows 63 bits"));
  expect_all(plan_with_change([](auto&, auto& o) { o.threads = 0; }),
             start + "threads=0; it must be between 1 and 1024");
  expect_all(plan_with_change([](auto&, auto& o) { o.pieces = -1; }),
             start + "pieces=-1; it must be between 1 and 1024, or 0 for the plan's");
  expect_all(plan_with_change([](auto&, auto& o) { o.hosts = 4; }),
             start + "hosts=4; it must be between 1 and the 3 ranks of the axis");
  expect_all(plan_with_change([](auto&, auto& o) { o.deadline = 0ms; }),
             start + "deadline=0 ms; it must be positive");
  expect_all(plan_with_change([](auto&, auto& o) {
               o.algorithm = Algorithm::kRing;
               o.hosts = 2;
             }),
             start + "hosts=2 with algorithm ring; only hierarchical takes hosts");
  expect_all(plan_with_change([](auto&, auto& o) { o.swiglu = true; }),
             start + "swiglu needs two right sides {gate, up} of the same n_local");
  expect_all(plan_with_change([](auto&, auto& o) {
               o.activations = {Activation::kRelu, Activation::kRelu};
             }),
             start + "activations has 2 entries; there are 1 right sides");
}

TEST(PlanErrors, MemoryThatOneRankLacksIsToldToAll) {
  const Messages messages = run_and_catch(2, [](const Axis& axis) {
    const std::int64_t k = std::int64_t{1} << 40;  // packed x of 2^50 bytes on either rank
    Plan::make(axis, {.m = 256, .k = k, .n_local = {1}});
  });
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find("cannot make the plan: no memory for a buffer of"), std::string::npos)
      << messages[0];
}

TEST(PlanErrors, ARankThatNeverComesIsNamedAtTheDeadline) {
  std::vector<ErrorCode> codes;
  const Messages messages = run_and_catch(
      3,
      [](const Axis& axis) {
        if (axis.rank() == 2) return test::wait_until_dead(axis);
        Plan::make(axis, {.m = 1, .k = 1, .n_local = {1}}, {.deadline = 1000ms});
      },
      &codes);
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find("ms for rank 2 to make a plan"), std::string::npos) << messages[0];
  EXPECT_EQ(codes[0], ErrorCode::kDeadline);
}

TEST(PlanErrors, APlanThatWasMovedFromSaysSo) {
  Plan plan = Plan::make(Mesh::threads({{"tp", 1}})[0].axis("tp"),
                         {.m = 3, .k = 2, .n_local = {1}, .rows = {3}});
  EXPECT_EQ(plan.rows_of(0, 3), 3);
  EXPECT_THROW(plan.rows_of(0, 2), Error);  // explicit rows: exactly its own m
  const Plan moved = std::move(plan);
  EXPECT_EQ(moved.num_ranks(), 1);
  EXPECT_THROW(plan.rank(), Error);  // NOLINT: that is the point
}

TEST(MeshErrors, AMeshThatWasMovedFromSaysSo) {
  Mesh mesh = std::move(Mesh::threads({{"tp", 1}})[0]);
  const Mesh moved = std::move(mesh);
  EXPECT_EQ(moved.allocate(8).bytes(), 8);
  const auto message = [](const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string expected = "this mesh was moved from; use the one it was moved to";
  EXPECT_EQ(message([&] { mesh.allocate(8); }), expected);  // NOLINT: that is the point
  EXPECT_EQ(message([&] { mesh.axis("tp"); }), expected);   // NOLINT
  mesh.abort("nothing to leave");                           // NOLINT
}

TEST(MeshErrors, ARankThatHasLeftMakesNoMoreCalls) {
  const auto messages = run_and_catch(1, [](const Axis& axis) {
    const Plan plan = Plan::make(axis, {.m = 1, .k = 1, .n_local = {1}});
    axis.endpoint().leave("its work is done");
    std::string first;
    const std::function<void()> calls[] = {
        [&] { axis.barrier(); }, [&] { Plan::make(axis, {.m = 1, .k = 1, .n_local = {1}}); },
        [&] {
          float x = 1, gathered = 0;
          all_gather(plan, MatrixView<const float>(&x, 1, 1), MatrixView<float>(&gathered, 1, 1));
        }};
    for (const auto& call : calls) {
      try {
        call();
        ADD_FAILURE() << "a call after leaving";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
        EXPECT_STREQ(error.what(),
                     "rank 0 has left the mesh (its work is done) and makes no more calls on it");
      }
    }
  });
  expect_all(messages, "");
}

TEST(MeshErrors, AxesAreChecked) {
  const auto message = [](const std::vector<AxisSize>& axes) {
    try {
      Mesh::threads(axes);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({}), "a mesh needs at least one axis, e.g. {{\"tp\", 4}}");
  EXPECT_EQ(message({{"tp", 0}}), "axis 'tp' has size 0; it must be at least 1");
  EXPECT_EQ(message({{"", 2}}), "axis name '' is empty or repeated; each axis needs its own");
  EXPECT_EQ(message({{"a", 2}, {"a", 2}}),
            "axis name 'a' is empty or repeated; each axis needs its own");
  EXPECT_EQ(message({{"a", 100}, {"b", 100}}), "the mesh has more than 4096 ranks at axis 'b'");
  const Mesh mesh = Mesh::threads({{"dp", 2}, {"tp", 2}})[3];
  EXPECT_EQ(mesh.axis("dp").rank(), 1);
  try {
    mesh.axis("pp");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no axis 'pp'; this mesh has 'dp', 'tp'");
  }
}

TEST(WeightErrors, PackChecksItsArguments) {
  std::vector<float> y(12);
  const auto message = [](const StridedMatrixRef& matrix, const PackOptions& options = {}) {
    try {
      Weights::pack(matrix, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({y.data(), DType::kF32, -1, 4, 4, 1}),
            "y [k, n] is [-1, 4]; extents must be >= 0");
  EXPECT_EQ(message({nullptr, DType::kF32, 3, 4, 4, 1}, {.transposed = true}),
            "y [n, k] is [3, 4] at a null pointer");
  EXPECT_EQ(message({y.data(), DType::kF32, INT64_MAX / 2, 4, 4, 1}),
            cat("y [k, n] is [", INT64_MAX / 2, ", 4]: its size overflows"));
  EXPECT_EQ(message({y.data(), DType::kF32, 3, 4, 4, 1}, {.bias = std::span(y).first(3)}),
            "the bias has 3 elements, y has n=4 columns");
  EXPECT_EQ(message({nullptr, DType::kF32, 0, 4, 4, 1}), "");
}

}  // namespace
}  // namespace cmm
