// What a caller is told when a call fails: on which ranks, with which code, in which words.
#include <gtest/gtest.h>

#include <thread>

#include "run_and_catch.hpp"
#include "support/distributed.hpp"
#include "support/mischief.hpp"

namespace cmm {
namespace {

using namespace std::chrono_literals;
using test::Messages;
using test::run_and_catch;

// A call in which rank 1 passes something else; `m` 12, `k` 8, 4 columns a rank.
struct Arguments {
  std::vector<float> x = std::vector<float>(4 * 8 + 64);
  std::vector<float> out = std::vector<float>(12 * 4 + 64);
  ConstMatrixRef x_ref{x.data(), DType::kF32, 4, 8, 8};
  MatrixRef out_ref{out.data(), DType::kF32, 12, 4, 4};
  Weights y = Weights::pack(MatrixView<float>(x.data(), 8, 4));
  MatrixRef gathered = {};
};
Messages call_with_change(const std::function<void(Arguments&)>& change) {
  return run_and_catch(3, [&](const Axis& axis) {
    const Plan plan = Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}});
    Arguments arguments;
    if (axis.rank() == 1) change(arguments);
    all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref,
                      {.gathered = arguments.gathered});
  });
}
void expect_rejected(const std::string& message, const std::function<void(Arguments&)>& change) {
  const Messages messages = call_with_change(change);
  EXPECT_EQ(messages[1], message);
  EXPECT_EQ(messages[0], "rank 1 failed: " + message);
  EXPECT_EQ(messages[2], "rank 1 failed: " + message);
}

TEST(CallErrors, WrongArgumentsOnOneRankReachAllRanks) {
  expect_rejected("x_local of rank 1 is [3, 8] f32; this plan needs [4, 8] f32",
                  [](Arguments& a) { a.x_ref.rows = 3; });
  expect_rejected("x_local of rank 1 is [4, 7] f32; this plan needs [4, 8] f32",
                  [](Arguments& a) { a.x_ref.cols = 7; });
  expect_rejected("x_local of rank 1 is [4, 8] bf16; this plan needs [4, 8] f32",
                  [](Arguments& a) { a.x_ref.dtype = DType::kBF16; });
  expect_rejected("x_local of rank 1 has row stride 7; it must be at least its 8 columns",
                  [](Arguments& a) { a.x_ref.row_stride = 7; });
  expect_rejected("x_local of rank 1 is [4, 8] f32 at a null pointer",
                  [](Arguments& a) { a.x_ref.data = nullptr; });
  expect_rejected("rank 1 calls with m=13 rows of output; this plan serves at most m=12",
                  [](Arguments& a) { a.out_ref.rows = 13; });
  expect_rejected("out of rank 1 is [12, 5] f32; this plan needs [12, 4] f32",
                  [](Arguments& a) { a.out_ref.cols = 5; });
  expect_rejected("out of rank 1 is [12, 4] f16; this plan needs [12, 4] f32",
                  [](Arguments& a) { a.out_ref.dtype = DType::kF16; });
  expect_rejected("out of rank 1 has row stride 3; it must be at least its 4 columns",
                  [](Arguments& a) { a.out_ref.row_stride = 3; });
  expect_rejected("out of rank 1 is [12, 4] f32 at a null pointer",
                  [](Arguments& a) { a.out_ref.data = nullptr; });
  expect_rejected("gathered of rank 1 is [11, 8] f32; this plan needs [12, 8] f32",
                  [](Arguments& a) {
                    a.gathered = {a.x.data(), DType::kF32, 11, 8, 8};
                  });
  expect_rejected("right side 0 of rank 1 was moved from; it holds no weights",
                  [](Arguments& a) { const Weights moved = std::move(a.y); });
  expect_rejected("right side 0 of rank 1 is [4, 8] f32; this plan needs [8, 4] f32",
                  [](Arguments& a) { a.y = Weights::pack(MatrixView<float>(a.x.data(), 4, 8)); });
}

TEST(CallErrors, DifferentMOnOneRankIsTheSameErrorOnAll) {
  const Messages messages = run_and_catch(2, [](const Axis& axis) {
    const Plan plan = Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}});
    Arguments arguments;
    arguments.out_ref.rows = 8 + 2 * axis.rank();
    arguments.x_ref.rows = 4 + axis.rank();
    all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
  });
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find("ranks disagree on a call"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("m=8"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("m=10"), std::string::npos) << messages[0];
}

TEST(CallErrors, ARankThatNeverCallsIsNamedAtTheDeadline) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
    std::vector<ErrorCode> codes;
    const Messages messages = run_and_catch(
        3,
        [algorithm](const Axis& axis) {
          const Plan plan = Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}},
                                       {.algorithm = algorithm, .deadline = 1000ms});
          if (axis.rank() == 0) {
            test::wait_until_dead(axis);
            return;
          }
          const Arguments arguments;
          all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
        },
        &codes);
    EXPECT_EQ(messages[0], "");
    EXPECT_EQ(messages[1], messages[2]);
    EXPECT_EQ(codes[1], ErrorCode::kDeadline);
    EXPECT_NE(messages[1].find("waited 1000 ms in call 1 for chunk 0"), std::string::npos)
        << messages[1];
    EXPECT_NE(messages[1].find("rank 0"), std::string::npos) << messages[1];
  }
}

TEST(CallErrors, ARankThatLeavesTakesTheOthersOut) {
  const Messages messages = run_and_catch(3, [](const Axis& axis) {
    const Plan plan = Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}});
    if (axis.rank() == 0) return;
    const Arguments arguments;
    all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
  });
  EXPECT_EQ(messages[1], "rank 0 has left the mesh: its body returned");
  EXPECT_EQ(messages[2], messages[1]);
}

// Rank 0 has all it needs, waits for rank 1 to read its rows, and gives up at its deadline while
// rank 1 still packs from them. RankData ends at a guard page and is unmapped at once: a read after
// rank 0 has thrown is a crash.
TEST(CallErrors, ASlowReaderIsTakenOutBeforeTheRowsAreFreed) {
  const test::Reference reference({.m = 2600, .k = 16, .n = {2}}, test::SumRule::kChain);
  std::vector<ErrorCode> codes;
  std::atomic<int> num_packed{0};
  const Messages messages = run_and_catch(
      2,
      [&](const Axis& axis) {
        auto data = std::make_unique<test::RankData>(reference, axis);
        const Plan plan = Plan::make(axis, data->shape(), {.threads = 1, .deadline = 500ms});
        // Rank 1 takes 200 ms for each of its 56 units of packing: 11 s if it did not stop.
        if (axis.rank() == 1) {
          plan.state().set_hook({[](void* context, exec::Point point, int) {
                                   if (point != exec::Point::kPacked) return;
                                   static_cast<std::atomic<int>*>(context)->fetch_add(1);
                                   std::this_thread::sleep_for(200ms);
                                 },
                                 &num_packed});
        }
        try {
          data->call(plan);
        } catch (...) {
          data.reset();
          throw;
        }
      },
      &codes);
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(codes[0], ErrorCode::kDeadline) << messages[0];
  EXPECT_NE(messages[0].find("waited 500 ms in call 1 for"), std::string::npos) << messages[0];
  EXPECT_GT(num_packed.load(), 0);
  EXPECT_LT(num_packed.load(), 56 / 2);
}

TEST(CallErrors, TheWaitForTheLastReaderHasADeadline) {
  std::vector<ErrorCode> codes;
  const Messages messages = run_and_catch(
      2,
      [](const Axis& axis) {
        const Plan plan = Plan::make(axis, {.m = 8, .k = 8, .n_local = {4}}, {.deadline = 1000ms});
        Axis copy = axis;
        if (axis.rank() == 1) {
          plan.state().set_hook({[](void* context, exec::Point point, int) {
                                   if (point != exec::Point::kArrived) return;
                                   test::wait_until_dead(*static_cast<Axis*>(context));
                                 },
                                 &copy});
        }
        Arguments arguments;
        arguments.out_ref.rows = 8;
        all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
      },
      &codes);
  EXPECT_EQ(codes[0], ErrorCode::kDeadline);
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find("for rank 1 to read chunk 0"), std::string::npos) << messages[0];
}

TEST(CallErrors, ADeadlineOfAges) {
  const test::Reference reference({.m = 4, .k = 5, .n = {6}}, test::SumRule::kChain);
  for (const auto deadline : {std::chrono::milliseconds::max(),
                              std::chrono::milliseconds(std::chrono::hours(24 * 365 * 300))}) {
    Options options;
    options.deadline = deadline;
    EXPECT_EQ(test::run_problem(reference, 2, options), "");
  }
}

TEST(CallErrors, OnePlanAtATimeOnAnAxis) {
  run_ranks({{"tp", 1}}, [](Mesh& mesh) {
    const Axis axis = mesh.axis("tp");
    const Plan first = Plan::make(axis, {.m = 4, .k = 8, .n_local = {4}});
    const Plan second = Plan::make(axis, {.m = 4, .k = 8, .n_local = {4}});
    Arguments arguments;
    arguments.out_ref.rows = 4;
    struct Nested {
      const Plan* plan;
      Arguments* arguments;
      std::string message;
    } nested{&second, &arguments, ""};
    first.state().set_hook({[](void* context, exec::Point point, int) {
                              if (point != exec::Point::kOffered) return;
                              auto& n = *static_cast<Nested*>(context);
                              try {
                                all_gather_matmul(*n.plan, n.arguments->x_ref, n.arguments->y,
                                                  n.arguments->out_ref);
                              } catch (const Error& error) {
                                n.message = error.what();
                              }
                            },
                            &nested});
    all_gather_matmul(first, arguments.x_ref, arguments.y, arguments.out_ref);
    EXPECT_EQ(nested.message,
              "rank 0 of axis 'tp' is in a call already; one call at a time on an axis");
  });
}

TEST(CallErrors, ARankHasLeftEvenIfItsPlanLivesOn) {
  std::unique_ptr<Plan> kept;
  std::vector<std::string> messages(2);
  run_ranks({{"tp", 2}}, [&](Mesh& mesh) {
    const Plan plan = Plan::make(mesh.axis("tp"), {.m = 8, .k = 8, .n_local = {4}});
    if (mesh.rank() == 0) {
      kept = std::make_unique<Plan>(plan);
      return;
    }
    Arguments arguments;
    arguments.out_ref.rows = 8;
    try {
      all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
    } catch (const Error& error) {
      messages[1] = error.what();
    }
  });
  EXPECT_EQ(messages[1], "rank 0 has left the mesh: its body returned");
}

TEST(CallErrors, RunRanksRethrowsTheFirstFailure) {
  try {
    run_ranks({{"tp", 3}}, [](Mesh& mesh) {
      const Plan plan = Plan::make(mesh.axis("tp"), {.m = 12, .k = 8, .n_local = {4}});
      if (mesh.rank() == 2) throw std::out_of_range("no such layer");
      const Arguments arguments;
      all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
    });
    FAIL() << "nothing was thrown";
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "no such layer");
  }
}

TEST(CallErrors, ASecondCallOnABusyPlanIsRefused) {
  run_ranks({{"tp", 1}}, [](Mesh& mesh) {
    const Plan plan = Plan::make(mesh.axis("tp"), {.m = 12, .k = 8, .n_local = {4}});
    struct Nested {
      const Plan* plan;
      Arguments arguments;
      int code = -1;
    } nested{&plan, {}, -1};
    nested.arguments.x_ref.rows = 12;
    nested.arguments.x_ref.row_stride = 8;
    nested.arguments.x.resize(12 * 8);
    nested.arguments.x_ref.data = nested.arguments.x.data();
    plan.state().set_hook({[](void* context, exec::Point point, int) {
                             auto& n = *static_cast<Nested*>(context);
                             if (point != exec::Point::kBeforeDrain) return;
                             try {
                               all_gather_matmul(*n.plan, n.arguments.x_ref, n.arguments.y,
                                                 n.arguments.out_ref);
                             } catch (const Error& error) {
                               n.code = static_cast<int>(error.code());
                             }
                           },
                           &nested});
    all_gather_matmul(plan, nested.arguments.x_ref, nested.arguments.y, nested.arguments.out_ref);
    EXPECT_EQ(nested.code, static_cast<int>(ErrorCode::kBusy));
  });
}

TEST(CallErrors, ADeadMeshSaysSoAndANewOneWorks) {
  run_and_catch(2, [](const Axis& axis) {
    const Plan plan = Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}});
    const Arguments arguments;  // x has 4 rows; 6 are needed
    for (int call = 0; call < 2; ++call) {
      try {
        all_gather_matmul(plan, arguments.x_ref, arguments.y, arguments.out_ref);
        ADD_FAILURE() << "the call went through";
      } catch (const Error& error) {
        EXPECT_EQ(error.code() == ErrorCode::kMeshDead, call == 1) << error.what();
      }
    }
    try {
      Plan::make(axis, {.m = 1, .k = 1, .n_local = {1}});
      ADD_FAILURE() << "a dead mesh made a plan";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMeshDead) << error.what();
    }
  });
  const test::Reference reference({.m = 5, .k = 6, .n = {7}}, test::SumRule::kChain);
  EXPECT_EQ(test::run_problem(reference, 2, {}), "");
}

}  // namespace
}  // namespace cmm
