// cmm tpu emit and compile: what they write, print and refuse. That kernels compile, the tests of
// label aot show.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_tool.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::json;

ToolResult tpu(const std::string& line) { return run_tool(words_of("tpu " + line)); }

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr const char* kSmall = " --devices 4 --m 256 --k 256 --n 1024";

TEST(TpuEmit, WritesModuleBodyAndJson) {
  const Scratch folder;
  for (const char* schedule : {"reference", "wavefront"}) {
    const std::string to = folder.file(schedule);
    const ToolResult result =
        tpu(std::string("emit --json --schedule ") + schedule + kSmall + " -o " + to);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json shown = Json::parse(result.out);
    EXPECT_GT(shown.at("seconds"), 0);
    const std::string body = text_of(to + "/body.mlir");
    EXPECT_EQ(shown.at("body_bytes"), body.size());
    EXPECT_NE(body.find("stable_mosaic.version = 8"), std::string::npos);
    const Json config = Json::parse(text_of(to + "/custom_call.json"));
    EXPECT_TRUE(config.at("custom_call_config").contains("body"));
    EXPECT_NE(text_of(to + "/module.mlir").find("sdy.manual_computation"), std::string::npos);
    EXPECT_NE(text_of(to + "/README.md").find("cmm tpu compile"), std::string::npos);
    EXPECT_NE(text_of(to + "/notes.txt").find(": "), std::string::npos);
  }
}

TEST(TpuEmit, RefusesWhatItCannotWrite) {
  expect_refused(tpu(std::string("emit") + kSmall), 2, "give -o DIR");
  expect_refused(tpu(std::string("emit --mosaic-version 6 -o x") + kSmall), 2, "7");
  expect_refused(tpu(std::string("emit --wrapper jit -o x") + kSmall), 2, "sdy, gspmd or replica");
}

TEST(TpuCompile, SaysWhereLibtpuIsNot) {
  expect_refused(tpu(std::string("compile --libtpu /nowhere") + kSmall), 2,
                 "there is no libtpu at /nowhere");
  expect_refused(tpu(std::string("tune --search 100 --verify 2 --libtpu /nowhere") + kSmall), 2,
                 "there is no libtpu at /nowhere");
  expect_refused(tpu(std::string("compile --slice 2x2x2") + kSmall), 2, "give 2, as in 2x4");
}

}  // namespace
}  // namespace cmm::cli
