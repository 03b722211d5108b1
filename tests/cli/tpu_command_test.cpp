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
  for (const char* command : {"simulate", "verify", "mutants", "tune", "table", "show", "chips"}) {
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

Json json_of(const ToolResult& result) {
  EXPECT_EQ(result.err, "");
  return Json::parse(result.out);
}

// The first shape that the reference kernel was tuned for.
constexpr const char* kTunedShape = "--chip v6e --devices 8 --m 1024 --k 5120 --n 51200 ";

TEST(TpuSimulate, PutsTheSchedulesSideBySide) {
  const Json json = json_of(tpu(std::string("simulate --compare --json ") + kTunedShape));
  const double reference = json.at("reference_seconds"), wavefront = json.at("wavefront_seconds"),
               sequential = json.at("sequential_seconds"), bound = json.at("bound_seconds");
  EXPECT_GT(reference, 1.25 * wavefront);
  EXPECT_GT(sequential, wavefront);
  EXPECT_GT(wavefront, bound);
  EXPECT_EQ(json.at("chosen"), "wavefront");
  for (const Json& kernel : json.at("kernels")) {
    double sum = 0;
    for (const char* part : {"mxu_seconds", "control_seconds", "idle_x_seconds", "idle_y_seconds",
                             "idle_out_seconds", "idle_other_seconds", "tail_seconds"}) {
      sum += kernel.at(part).get<double>();
    }
    EXPECT_NEAR(sum, kernel.at("seconds"), 1e-12) << kernel.at("schedule");
    EXPECT_NEAR(kernel.at("share_of_bound"), bound / kernel.at("seconds").get<double>(), 1e-12);
  }
  EXPECT_EQ(json.at("kernels")[0].at("parameters"), "bn=6400 bk=2560");
}

TEST(TpuSimulate, SaysWhyTheReferenceRefuses) {
  const std::string line = "simulate --devices 4 --m 100 --k 5120 --n 4096 --compare";
  const Json json = json_of(tpu(line + " --json"));
  EXPECT_TRUE(json.at("reference_seconds").is_null());
  EXPECT_NE(json.at("reference_refused").get<std::string>().find("m is 100"), std::string::npos);
  const ToolResult text = tpu(line);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("reference: refused, m is 100"), std::string::npos) << text.out;
  expect_refused(tpu(line + " --schedule reference"), 2, "m is 100");
}

TEST(TpuSimulate, TakesWhatTuneFinds) {
  const std::string shape = "--devices 4 --m 512 --k 2048 --n 8192 --json";
  const Json tuned = json_of(tpu("tune --search 40 " + shape));
  EXPECT_LE(tuned.at("seconds"), tuned.at("planned_seconds"));
  std::vector<std::string> words = words_of("tpu simulate --schedule wavefront " + shape);
  words.push_back("--parameters");
  words.push_back(tuned.at("parameters"));
  const Json simulated = json_of(run_tool(words));
  EXPECT_EQ(simulated.at("kernels")[1].at("seconds"), tuned.at("seconds"));
}

// A chip whose semaphores do not suffice for any table has no wavefront kernel; the rest is timed.
TEST(TpuSimulate, TimesWhatIsLeft) {
  const Scratch folder;
  Json chips = Json::parse(tpu("chips --json").out);
  chips["chips"][3]["num_semaphores"]["value"] = 14;
  const std::string path = folder.file("chips.json");
  std::ofstream(path) << chips;
  const std::string line = "simulate --devices 8 --m 64 --k 256 --n 1024 --chips " + path;
  const Json json = json_of(tpu(line + " --json"));
  EXPECT_NE(json.at("wavefront_refused").get<std::string>().find("semaphores"), std::string::npos);
  EXPECT_EQ(json.at("chosen"), "sequential");
  EXPECT_EQ(json.at("wavefront_seconds"), json.at("sequential_seconds"));
  const ToolResult text = tpu(line);
  EXPECT_NE(text.out.find("wavefront: refused, no tile schedule for v6e"), std::string::npos);
  expect_refused(tpu(line + " --schedule wavefront"), 2, "semaphores");
}

TEST(TpuSimulate, MeansTheWavefrontKernelWhereItIsNamed) {
  const std::string line = "simulate --devices 4 --m 8 --k 256 --n 1024 --json";
  const Json any = json_of(tpu(line)), named = json_of(tpu(line + " --schedule wavefront"));
  const auto seconds_of = [](const Json& json, const Json& schedule) {
    for (const Json& kernel : json.at("kernels")) {
      if (kernel.at("schedule") == schedule) return kernel.at("seconds").get<double>();
    }
    return -1.0;
  };
  EXPECT_EQ(any.at("wavefront_seconds"), seconds_of(any, any.at("chosen")));
  EXPECT_EQ(named.at("wavefront_seconds"), seconds_of(named, "wavefront"));
}

TEST(TpuSimulate, RefusesOptionsOfAnotherKernel) {
  expect_refused(tpu("simulate --schedule wavefront --bn 77"), 2, "bn is 77");
  expect_refused(tpu("simulate --schedule sequential --bk 5"), 2, "bk is 5");
  expect_refused(tpu("show --schedule reference --parameters x"), 2, "parameters are 'x'");
  expect_refused(tpu("show --bn 128 --parameters x"), 2, "parameters 'x'");
  expect_refused(run_tool({"tpu", "simulate", "--parameters", ""}), 2, "--parameters is ''");
  for (const char* flag : {"--m 5", "--mesh 2x2", "--gathered", "--dtype f32", "--bn 128"}) {
    expect_refused(tpu(std::string("verify --sweep ") + flag), 2, "--sweep has its own");
  }
  expect_refused(tpu("verify --sweep --mutant 1"), 2, "--sweep puts no fault in");
}

TEST(TpuTable, IsPrinted) {
  const Json entries = json_of(tpu("table --json")).at("entries");
  EXPECT_GE(entries.size(), 6U);
  for (const Json& entry : entries) {
    EXPECT_NE(entry.get<std::string>().find("side_rows="), std::string::npos) << entry;
  }
  EXPECT_NE(tpu("table").out.find(entries[0].get<std::string>()), std::string::npos);
  expect_refused(tpu("table --search 0"), 2, "--search is '0'");
  expect_refused(tpu("table --output="), 2, "--output");
}

TEST(TpuSimulate, IsSlowerOnALineAndWithSlowerCopies) {
  const std::string line = std::string("simulate --json ") + kTunedShape;
  const auto seconds = [&](const std::string& more) {
    return json_of(tpu(line + more)).at("wavefront_seconds").get<double>();
  };
  const double usual = seconds("");
  EXPECT_EQ(seconds("--slice 2x4"), usual);
  EXPECT_GT(seconds("--slice 1x8"), usual);
  EXPECT_GT(seconds("--copy-gbytes 100"), usual);
  expect_refused(tpu(line + "--slice 2x5"), 2, "slice 2x5 must have as many chips");
  expect_refused(tpu(line + "--slice 2y4"), 2, "--slice is '2y4'");
}

TEST(TpuSimulate, WritesATimeline) {
  const Scratch folder;
  for (const char* schedule : {"reference", "wavefront", "sequential"}) {
    const ToolResult result =
        tpu(std::string("simulate --devices 4 --m 64 --k 256 --n 1024 --schedule ") + schedule +
            " --trace " + folder.file("t.json") + " --html " + folder.file("t.html"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(Json::parse(content_of(folder.file("t.json"))).at("traceEvents").size(), 10U);
    EXPECT_NE(content_of(folder.file("t.html")).find("</html>"), std::string::npos);
  }
  expect_refused(tpu("simulate --html " + folder.file("none/t.html")), 3, "none/t.html");
}

TEST(TpuVerify, ProvesBothKernelsRight) {
  for (const char* schedule : {"reference", "wavefront"}) {
    const ToolResult result = tpu(std::string("verify --devices 3 --m 48 --k 256 --n 768 "
                                              "--interleavings 4 --json --schedule ") +
                                  schedule);
    EXPECT_EQ(result.exit_code, 0);
    const Json verdict = json_of(result);
    EXPECT_EQ(verdict.at("right"), true);
    EXPECT_EQ(verdict.at("schedule"), schedule);
    EXPECT_EQ(verdict.at("runs"), 3 + 2 * 3 + 4);
    EXPECT_FALSE(verdict.at("parameters").get<std::string>().empty());
  }
}

TEST(TpuVerify, TakesTheParametersItPrints) {
  const std::string flags = "verify --devices 2 --m 32 --k 128 --n 512 --interleavings 0 --json";
  const std::string parameters = json_of(tpu(flags)).at("parameters");
  std::vector<std::string> words = words_of("tpu " + flags + " --parameters");
  words.push_back(parameters);
  const ToolResult again = run_tool(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json_of(again).at("parameters"), parameters);
}

TEST(TpuVerify, EndsWithOneWhereAFaultWasPutIn) {
  const std::string line = "verify --devices 3 --m 48 --k 256 --n 768 --bn 128 --bk 128 --mutant 0";
  const ToolResult result = tpu(line);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("WRONG"), std::string::npos) << result.out;
  // The line that does it again does.
  const std::size_t at = result.out.find("again: cmm tpu ");
  ASSERT_NE(at, std::string::npos);
  const std::string again = result.out.substr(at + 15, result.out.find('\n', at) - at - 15);
  EXPECT_EQ(tpu(again).exit_code, 1) << again;
  const Scratch folder;
  std::ofstream(folder.file("mine.json")) << tpu("chips --json").out;
  const std::string chips = " --chips " + folder.file("mine.json");
  EXPECT_NE(tpu(line + chips).out.find("again: cmm tpu verify --chip v6e" + chips),
            std::string::npos);
  EXPECT_EQ(json_of(tpu(line + " --json")).at("right"), false);
  expect_refused(tpu(line + "9999"), 2, "there is no fault 9999; this kernel has");
}

TEST(TpuVerify, RefusesWhatNoKernelCanDo) {
  expect_refused(tpu("verify --devices 4 --n 1022"), 2, "n is 1022; y is split by columns over 4");
  expect_refused(tpu("verify --mesh 2x0"), 2, "--mesh is '2x0'");
  expect_refused(tpu("verify --mesh 2x4 --axis 2"), 2, "--axis is 2 but the mesh 2x4 has axes 0");
  expect_refused(tpu("verify --mesh 2x4 --devices 2"), 2,
                 "--devices is 2 but axis 1 of --mesh 2x4");
  expect_refused(tpu("verify --dtype f64"), 2, "--dtype: no element type 'f64'");
  expect_refused(tpu("verify --schedule ring"), 2, "--schedule: no schedule 'ring'");
  expect_refused(tpu("verify --schedule sequential"), 2, "no kernel of ours");
  expect_refused(tpu("verify --schedule reference --devices 1 --n 256"), 2, "1 device");
  expect_refused(tpu("verify --chip v9"), 2, "--chip: no chip 'v9'; there are v4, v5e");
  expect_refused(tpu("verify --parameters now"), 2, "now");
  expect_refused(tpu("verify --bn 100"), 2, "bn is 100");
  expect_refused(tpu("verify --n 1024,x"), 2, "--n is 'x'");
}

TEST(TpuMutants, AreAllCaughtOrArguedAway) {
  const ToolResult result =
      tpu("mutants --devices 2 --m 32 --k 128 --n 256 --schedule reference --json");
  EXPECT_EQ(result.exit_code, 0);
  const Json all = json_of(result);
  EXPECT_EQ(all.at("missed"), 0);
  EXPECT_EQ(all.at("mutants"), all.at("caught").get<int>() + all.at("equivalent").get<int>());
  EXPECT_EQ(all.at("mutants"), all.at("verdicts").size());
  for (const Json& mutant : all.at("verdicts")) {
    EXPECT_TRUE(mutant.contains("cause") || mutant.contains("because")) << mutant;
  }
}

TEST(TpuShow, PrintsTheProgramAndItsTable) {
  const ToolResult result = tpu("show --devices 4 --m 64 --k 256 --n 1024 --program");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("\nkernel all_gather_matmul_wavefront"), std::string::npos);
  EXPECT_NE(result.out.find("\n  step 0: load x 0: slot 0"), std::string::npos) << result.out;
}

TEST(TpuChips, CanBeAUsersOwn) {
  const Scratch folder;
  Json chips = Json::parse(tpu("chips --json").out);
  chips["chips"][0]["name"] = "mine";
  const std::string path = folder.file("chips.json");
  std::ofstream(path) << chips;
  EXPECT_EQ(tpu("show --devices 2 --m 32 --k 128 --n 256 --chip mine --chips " + path).exit_code,
            0);
  expect_refused(tpu("show --chip v4 --chips " + path), 2, "has mine, v5e");
  chips["chips"][0]["clock_hz"]["value"] = -1;
  std::ofstream(path) << chips;
  expect_refused(tpu("show --chip mine --chips " + path), 3, "clock_hz");
  expect_refused(tpu("show --chips " + folder.file("none.json")), 3, "none.json: cannot be read");
  std::ofstream(path) << R"({"chips": [1e999]})";
  expect_refused(tpu("show --chips " + path), 3, "chips.json: TPU chips: ");
  expect_refused(tpu("show --chips /tmp"), 3, "/tmp: cannot be read: Is a directory");
}

// A machine that is slower in all by 10^6 takes 10^6 times as long, and not for ever.
TEST(TpuChips, CanBeAMillionTimesSlower) {
  const Scratch folder;
  Json chips = Json::parse(tpu("chips --json").out);
  for (const auto& [key, by] : {std::pair("clock_hz", 1e-6),
                                {"hbm_bytes_per_second", 1e-6},
                                {"link_bytes_per_second", 1e-6},
                                {"hop_seconds", 1e6},
                                {"copy_seconds", 1e6},
                                {"entry_seconds", 1e6}}) {
    Json& value = chips["chips"][3][key]["value"];
    value = value.get<double>() * by;
  }
  const std::string path = folder.file("chips.json");
  std::ofstream(path) << chips;
  const std::string line = "simulate --devices 4 --m 512 --k 2048 --n 8192 --json";
  const Json usual = json_of(tpu(line)), slow = json_of(tpu(line + " --chips " + path));
  for (const char* key : {"reference_seconds", "wavefront_seconds", "sequential_seconds"}) {
    EXPECT_NEAR(slow.at(key).get<double>() / usual.at(key).get<double>(), 1e6, 1) << key;
  }
}

}  // namespace
}  // namespace cmm::cli
