// A rank whose process was held up, by a busy machine or a signal, blames nobody for that.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "cmm/cmm.hpp"
#include "support/fake_endpoint.hpp"

namespace cmm {
namespace {

using namespace std::chrono_literals;

// Rank 0 of two multiplies with a deadline of 500 ms.
void multiply(const std::shared_ptr<test::FakeEndpoint>& endpoint) {
  const Mesh mesh(0, {{"tp", 2}}, {endpoint});
  const Plan plan = Plan::make(mesh.axis("tp"), {.m = 2, .k = 1, .n_local = {1}},
                               {.algorithm = Algorithm::kDirect, .threads = 1, .deadline = 500ms});
  const float x = 2, y = 3;
  float out[2] = {};
  all_gather_matmul(plan, MatrixView<const float>(&x, 1, 1),
                    Weights::pack(MatrixView<const float>(&y, 1, 1)), MatrixView<float>(out, 2, 1));
  EXPECT_EQ(out[0], 6);
  EXPECT_EQ(out[1], 3);
}

// It sleeps past its deadline, and the peer comes meanwhile.
TEST(HeldUp, ARankLooksOnceMoreBeforeItMissesItsDeadline) {
  const auto endpoint = std::make_shared<test::FakeEndpoint>(0, std::vector<int>{0, 0});
  endpoint->peers.doze = [&] {
    std::this_thread::sleep_for(700ms);
    endpoint->peers.here = {1};
    endpoint->peers.released = {0};
  };
  multiply(endpoint);
}

// The peer, on another host, has read this rank's rows: its message lies there, to be looked for.
TEST(HeldUp, ARankLooksForMessagesOnceMoreBeforeItMissesItsDeadline) {
  const auto endpoint = std::make_shared<test::FakeEndpoint>(0, std::vector<int>{0, 1});
  bool has_come = false;
  endpoint->peers.here = {1};
  endpoint->peers.doze = [&] {
    std::this_thread::sleep_for(700ms);
    has_come = true;
  };
  endpoint->peers.poll = [&] {
    if (has_come) endpoint->peers.released = {0};
  };
  multiply(endpoint);
}

}  // namespace
}  // namespace cmm
