// Runs ranks that are expected to fail, and gives what each of them was told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "cmm/cmm.hpp"
#include "transport/transport.hpp"

namespace cmm::test {

// Runs body on every rank and returns what each threw, by rank; "" where it returned.
using Messages = std::vector<std::string>;
inline Messages run_and_catch(int num_ranks, const std::function<void(const Axis&)>& body,
                              std::vector<ErrorCode>* codes = nullptr) {
  Messages messages(static_cast<std::size_t>(num_ranks));
  if (codes != nullptr) codes->assign(messages.size(), ErrorCode::kUnsupported);
  run_ranks({{"tp", num_ranks}}, [&](Mesh& mesh) {
    const auto rank = static_cast<std::size_t>(mesh.rank());
    try {
      body(mesh.axis("tp"));
    } catch (const Error& error) {
      messages[rank] = error.what();
      if (codes != nullptr) (*codes)[rank] = error.code();
    }
  });
  return messages;
}

// Returns once a peer has failed the axis, however late it comes to its deadline; with a failure
// of the test where none does.
inline void wait_until_dead(const Axis& axis) {
  const Deadline deadline(std::chrono::seconds(60));
  try {
    for (; !deadline.expired(); std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      axis.endpoint().check_alive();
    }
    ADD_FAILURE() << "no peer of rank " << axis.rank() << " failed axis '" << axis.name()
                  << "' within " << deadline.limit_ms() << " ms";
  } catch (const Error&) {
  }
}

inline void expect_all(const Messages& messages, const std::string& expected) {
  for (const std::string& message : messages) EXPECT_EQ(message, expected);
}

}  // namespace cmm::test
