// cmm tpu: what its commands print, what they end with, and what they refuse.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_tool.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::json;

ToolResult tpu(const std::string& line) { return run_tool(words_of("tpu " + line)); }

TEST(TpuCommands, AreNamedWhereOneIsMissing) {
  expect_refused(run_tool({"tpu"}), 2, "no command given after tpu; the commands are");
  expect_refused(tpu("walk"), 2, "'tpu walk' is no command; the commands are");
  expect_refused(tpu("--walk"), 2, "'tpu --walk' is no command; the commands are");
  expect_refused(tpu("chips --walk"), 2, "unknown argument --walk; `cmm tpu chips --help`");
  expect_refused(tpu("chips now"), 2, "unknown argument now; `cmm tpu chips --help`");
}

TEST(TpuCommands, ShowExamplesInTheirHelp) {
  const ToolResult all = tpu("--help");
  EXPECT_EQ(all.exit_code, 0);
  for (const char* command : {"chips"}) {
    EXPECT_NE(all.out.find(command), std::string::npos);
    const ToolResult help = tpu(std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find(std::string("\n  cmm tpu ") + command), std::string::npos) << help.out;
  }
}

TEST(TpuChips, AreListed) {
  const ToolResult result = tpu("chips");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* chip : {"v4", "v5e", "v5p", "v6e", "7x"}) {
    EXPECT_NE(result.out.find(std::string("\n") + chip), std::string::npos) << result.out;
  }
}

TEST(TpuChips, ArePrintedAsAFileWithSources) {
  const ToolResult result = tpu("chips --json");
  EXPECT_EQ(result.exit_code, 0);
  for (const Json& chip : Json::parse(result.out).at("chips")) {
    EXPECT_FALSE(chip.at("clock_hz").at("source").get<std::string>().empty());
  }
}

}  // namespace
}  // namespace cmm::cli
