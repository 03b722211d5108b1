// What no TPU could run is refused in our words: by our own checks where libtpu would take it or
// end its process, else with the line that libtpu names and what that line is for.
#include <gtest/gtest.h>

#include <functional>

#include "cmm/error.hpp"
#include "sim/chips.hpp"
#include "tpu/aot/libtpu.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using test::kNewestLibtpu;

const Chip& chip(std::string_view name) { return sim::find_chip(sim::builtin_chips(), name); }

ReferenceOptions small_options() {
  return {.ring = {.mesh = {4}},
          .m = 256,
          .k = 256,
          .n = 1024,
          .element = Element::kBF16,
          .bn = 256,
          .bk = 128};
}
Kernel reference() { return reference_kernel(small_options(), chip("v6e")); }

struct Refused {
  ErrorCode code = ErrorCode::kBusy;
  std::string text;
};
Refused compile(const Kernel& kernel, const aot::CompileOptions& options,
                std::string_view chip_name = "v6e") {
  try {
    aot::compile(kernel, chip(chip_name), options);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}
void expect_refused(const Refused& refused, ErrorCode code, const std::vector<std::string>& parts) {
  EXPECT_EQ(refused.code, code) << refused.text;
  for (const std::string& part : parts) {
    EXPECT_NE(refused.text.find(part), std::string::npos) << part << " is not in: " << refused.text;
  }
}

// Calls `change` with each statement, deepest first, until it says that it is done.
bool visit(Block& block, const std::function<bool(Statement&)>& change) {
  for (Statement& statement : block) {
    if (auto* branch = std::get_if<If>(&statement.what); branch && visit(branch->then, change)) {
      return true;
    }
    if (auto* loop = std::get_if<For>(&statement.what); loop && visit(loop->body, change)) {
      return true;
    }
    if (auto* scope = std::get_if<Scope>(&statement.what); scope && visit(scope->body, change)) {
      return true;
    }
    if (change(statement)) return true;
  }
  return false;
}

// libtpu takes these, or ends the process: none of them comes to it, so it is not needed here.
TEST(OwnRefusals, SlicesOutOfBounds) {
  Kernel kernel = reference();
  Program& program = kernel.program;
  program.scalars.push_back({.op = ScalarOp::kConstant, .immediate = 136});
  const Scalar beyond{static_cast<int>(program.scalars.size()) - 1};
  ASSERT_TRUE(visit(program.body, [&](Statement& statement) {
    auto* copy = std::get_if<StartCopy>(&statement.what);
    if (copy == nullptr || !copy->remote) return false;
    copy->source.offsets[0] = beyond;
    return true;
  }));
  expect_refused(compile(kernel, {}), ErrorCode::kInvalidArgument, {"136", "x"});
}

TEST(OwnRefusals, BlocksThatLeaveARest) {
  ReferenceOptions options = small_options();
  options.bn = 1024;  // all of n, of which a device has a fourth
  EXPECT_THROW(reference_kernel(options, chip("v6e")), Error);
  options = small_options();
  options.k = 384;
  options.bk = 256;
  EXPECT_THROW(reference_kernel(options, chip("v6e")), Error);
  options = small_options();
  options.ring.mesh = {1};
  EXPECT_THROW(reference_kernel(options, chip("v6e")), Error);
}

TEST(OwnRefusals, ABarrierWithoutItsNumber) {
  Kernel kernel = reference();
  kernel.program.collective_id.reset();
  expect_refused(compile(kernel, {}), ErrorCode::kInvalidArgument, {"collective"});
}

TEST(OwnRefusals, SendsWithoutABarrier) {
  Kernel kernel = reference();
  const auto is_barrier = [&](const SemaphoreRef& semaphore) {
    return kernel.program.semaphores[static_cast<std::size_t>(semaphore.array)].kind ==
           SemaphoreKind::kBarrier;
  };
  ASSERT_TRUE(visit(kernel.program.body, [&](Statement& statement) {
    const auto* await = std::get_if<Await>(&statement.what);
    if (await == nullptr || !is_barrier(await->semaphore)) return false;
    statement.what = DebugPrint{.text = "no barrier", .values = {}};
    return true;
  }));
  expect_refused(compile(kernel, {}), ErrorCode::kInvalidArgument,
                 {"sends to other devices and never awaits the barrier"});
}

TEST(OwnRefusals, ANumberWithoutABarrier) {
  Kernel kernel = reference();
  kernel.program.num_devices = 1;
  std::erase_if(kernel.program.body, [](const Statement&) { return true; });
  expect_refused(compile(kernel, {}), ErrorCode::kInvalidArgument,
                 {"has collective id 0 and never awaits the barrier"});
}

TEST(OwnRefusals, CopiesThatNobodyAwaits) {
  Kernel kernel = reference();
  const auto is_wait = [](Statement& statement) {
    if (!std::holds_alternative<AwaitCopy>(statement.what)) return false;
    statement.what = DebugPrint{.text = "no wait", .values = {}};
    return true;
  };
  while (visit(kernel.program.body, is_wait)) {
  }
  expect_refused(compile(kernel, {}), ErrorCode::kInvalidArgument,
                 {"starts copies on the semaphores", "never awaits any of them"});
}

TEST(OwnRefusals, DeviceAssignments) {
  aot::CompileOptions options;
  options.libtpu = options.worker = CMM_WORKER;  // any file: it is not started
  options.assignment = {0, 0, 1, 1};
  expect_refused(compile(reference(), options), ErrorCode::kInvalidArgument,
                 {"device 0 of v6e:2x2 is to be devices 0 and 1 of the mesh"});
  options.assignment = {0, 1, 3, 9};
  expect_refused(compile(reference(), options), ErrorCode::kInvalidArgument, {"devices 0 to 3"});
}

TEST(OwnRefusals, TypesThatAChipDoesNotMultiply) {
  ReferenceOptions options = small_options();
  options.element = Element::kS8;
  EXPECT_THROW(reference_kernel(options, chip("v4")), Error);
  options.element = Element::kF8E4M3;
  EXPECT_THROW(reference_kernel(options, chip("v4")), Error);
}

TEST(OwnRefusals, VersionsThatAreNone) {
  aot::CompileOptions options;
  options.body.version = 6;
  expect_refused(compile(reference(), options), ErrorCode::kInvalidArgument, {"give 7 to 20"});
}

// libtpu refuses these: the message is ours, with what it says at the end.
TEST(LibtpuRefusals, MoreVmemThanTheChipHas) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  Kernel kernel = reference();
  for (Buffer& buffer : kernel.program.buffers) {
    if (buffer.name == "y on chip") buffer.shape[1] *= 4000;
  }
  expect_refused(compile(kernel, test::compile_options(kNewestLibtpu)), ErrorCode::kOutOfMemory,
                 {"bytes of VMEM, v6e has 134217728", "give smaller tiles", "libtpu says: "});
}

TEST(LibtpuRefusals, OffsetsInsideOfTiles) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  Kernel kernel = reference();
  // A dynamic offset that nothing proves to be a multiple of a tile: the index of the grid.
  ASSERT_TRUE(visit(kernel.program.body, [&](Statement& statement) {
    auto* copy = std::get_if<StartCopy>(&statement.what);
    if (copy == nullptr || copy->remote || statement.note < 0) return false;
    Program& program = kernel.program;
    program.scalars.push_back({.op = ScalarOp::kGridIndex, .immediate = 2});
    copy->source.offsets.back() = {static_cast<int>(program.scalars.size()) - 1};
    return true;
  }));
  const Refused refused = compile(kernel, test::compile_options(kNewestLibtpu));
  expect_refused(refused, ErrorCode::kUnsupported,
                 {"At line ", " of the body (start_first_local_x_copy)", "tpu.memref_slice",
                  "inside of a tile"});
}

TEST(LibtpuRefusals, MoreSemaphoresThanTheChipHas) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  Kernel kernel = reference();
  kernel.program.semaphores.push_back({.name = "many", .shape = {600}});
  expect_refused(compile(kernel, test::compile_options(kNewestLibtpu)), ErrorCode::kOutOfMemory,
                 {"too many semaphores"});
}

TEST(LibtpuRefusals, VersionsItDoesNotKnow) {
  CMM_SKIP_WITHOUT_LIBTPU(test::kOldestLibtpu);
  aot::CompileOptions options = test::compile_options(test::kOldestLibtpu);
  options.body.version = 20;
  expect_refused(compile(reference(), options), ErrorCode::kUnsupported,
                 {"older than the version of Mosaic that was asked for"});
}

TEST(LibtpuRefusals, SlicesItDoesNotKnow) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  aot::CompileOptions options = test::compile_options(kNewestLibtpu);
  options.slice = {3, 3};
  expect_refused(compile(reference(), options), ErrorCode::kInvalidArgument,
                 {"libtpu knows no slice v6e:3x3"});
}

TEST(LibtpuRefusals, ChipsItDoesNotKnowYet) {
  CMM_SKIP_WITHOUT_LIBTPU(test::kOldestLibtpu);
  const Kernel kernel = reference_kernel(small_options(), chip("7x"));
  expect_refused(compile(kernel, test::compile_options(test::kOldestLibtpu), "7x"),
                 ErrorCode::kInvalidArgument, {"libtpu knows no slice tpu7x:2x2x1"});
}

TEST(LibtpuRefusals, NotDoneInTime) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  aot::CompileOptions options = test::compile_options(kNewestLibtpu);
  options.timeout_seconds = 0.01;
  expect_refused(compile(reference(), options), ErrorCode::kDeadline, {"not done after 0.01 s"});
}

}  // namespace
}  // namespace cmm::tpu
