// The worker with a library in libtpu's place that fails in all ways that a library can.
#include "tpu/aot/worker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "cmm/error.hpp"
#include "tpu/aot/compile.hpp"
#include "tpu/emit/small_kernels.hpp"

namespace cmm::tpu::aot {
namespace {

struct Refused {
  ErrorCode code;
  std::string text;
};
Refused refused(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}
void expect_has(const std::string& text, const std::string& what) {
  EXPECT_NE(text.find(what), std::string::npos) << what << " is not in: " << text;
}

Refused with_fake(const char* fault, double timeout_seconds = 60) {
  return refused([&] {
    ask_worker({{field::kLibtpu, CMM_FAKE_LIBTPU}, {field::kModule, std::string(4 << 20, 'm')}},
               {.program = CMM_WORKER,
                .timeout_seconds = timeout_seconds,
                .environment = {{"FAKE_LIBTPU", fault}}});
  });
}

TEST(Message, ComesBackAsItWas) {
  const Message message = {{"a", std::string("\0\n", 2)}, {"b", ""}, {"", "c"}};
  const std::string bytes = encode(message);
  EXPECT_EQ(decode(bytes), message);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode(bytes.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(decode(bytes + "x"), std::nullopt);
}

TEST(Worker, OutlivesALibraryThatAborts) {
  const Refused error = with_fake("abort");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  expect_has(error.text, "ended by signal 6");
  expect_has(error.text, "Check failed: custom barrier");
}

TEST(Worker, OutlivesALibraryThatExits) {
  const Refused error = with_fake("exit");
  expect_has(error.text, "ended with exit code 1");
  expect_has(error.text, "Unknown command line flag 'xla_bogus'");
}

TEST(Worker, EndsALibraryThatHangs) {
  const auto begin = std::chrono::steady_clock::now();
  const Refused error = with_fake("hang", 0.3);
  EXPECT_EQ(error.code, ErrorCode::kDeadline);
  expect_has(error.text, "not done after 0.3 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// What comes of a compile by the library in libtpu's place.
Refused compile_with_fake(CompileOptions options) {
  const test::SmallKernel small = test::small_kernels()[0];
  Chip chip = small.chip;
  chip.name = "v6e";
  return refused([&] { compile(small.kernel, chip, options); });
}

TEST(Worker, TellsALibraryToLeaveNoLogs) {
  CompileOptions options;
  options.worker = CMM_WORKER;
  options.libtpu = CMM_FAKE_LIBTPU;
  setenv("FAKE_LIBTPU", "flags", 1);
  expect_has(compile_with_fake(options).text, "ARGS is --log_dir=/dev/null.");
  setenv("LIBTPU_INIT_ARGS", "--log_dir=/mine", 1);
  expect_has(compile_with_fake(options).text, "ARGS is --log_dir=/dev/null --log_dir=/mine.");
  unsetenv("LIBTPU_INIT_ARGS");
  unsetenv("FAKE_LIBTPU");
}

TEST(Worker, SaysWhatIsWrongWithALibrary) {
  CompileOptions options;
  options.worker = CMM_WORKER;
  options.libtpu = CMM_FAKE_LIBTPU;
  const auto text = [&] { return compile_with_fake(options).text; };
  expect_has(text(), "libtpu cannot be used: its PJRT API 0.12 is too old");
  options.libtpu = CMM_WORKER;  // a file that is no library
  expect_has(text(), "libtpu cannot be used: it cannot be loaded");
  options.libtpu = "/nowhere/libtpu.so";
  expect_has(text(), "there is no libtpu at /nowhere/libtpu.so");
  options.libtpu = CMM_FAKE_LIBTPU;
  options.worker = "/nowhere/worker";
  expect_has(text(), "there is no program /nowhere/worker");
}

TEST(Worker, IsFoundWhereTheVariableSays) {
  setenv("CMM_TPU_COMPILER", CMM_WORKER, 1);
  EXPECT_EQ(find_worker(""), CMM_WORKER);
  unsetenv("CMM_TPU_COMPILER");
  expect_has(refused([] { find_worker(""); }).text, "CMM_TPU_COMPILER");
  setenv("CMM_LIBTPU", CMM_FAKE_LIBTPU, 1);
  EXPECT_EQ(find_libtpu(""), CMM_FAKE_LIBTPU);
  unsetenv("CMM_LIBTPU");
}

}  // namespace
}  // namespace cmm::tpu::aot
