// One process fails on its way into a mesh. long_test.cpp tries every way at every system call.
#include "meeting_faults.hpp"

namespace cmm::contract {
namespace {

TEST(MeetingFaults, KillAtSystemCalls) { at_each_call(Mishap::kKill, 4); }
TEST(MeetingFaults, ErrorOfEachSystemCall) { at_each_call(Mishap::kError); }
TEST(MeetingFaults, SlowAtSystemCalls) { at_each_call(Mishap::kSlow, 4); }

}  // namespace
}  // namespace cmm::contract
