// The data file of the chips: what is in it, and what is wrong with edited ones.
#include "sim/chips.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cmm/error.hpp"

namespace cmm::sim {
namespace {

using Json = nlohmann::json;

std::string error_of(const std::string& text) {
  try {
    parse_chips(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFile);
    return error.what();
  }
  return "no error";
}

std::string error_of_edit(const std::function<void(Json& v6e)>& edit) {
  Json json = Json::parse(builtin_chips_text());
  for (Json& chip : json["chips"]) {
    if (chip["name"] == "v6e") edit(chip);
  }
  return error_of(json.dump());
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Peak products of two bytes a second, as the data sheets have them.
TEST(Chips, PeakRatesAreThoseOfTheDataSheets) {
  const std::vector<std::pair<std::string, double>> teraflops = {
      {"v4", 275}, {"v5e", 197}, {"v5p", 459}, {"v6e", 918}, {"7x", 2307}};
  ASSERT_EQ(builtin_chips().size(), teraflops.size());
  for (const auto& [name, peak] : teraflops) {
    const tpu::Chip& chip = find_chip(builtin_chips(), name);
    const double products = chip.num_mxus * chip.mxu_tile * chip.mxu_tile / chip.mxu_cycles_per_row;
    const int cores = name == "7x" ? 2 : chip.cores_per_device;  // devices, on 7x
    EXPECT_NEAR(2 * products * chip.clock_hz * cores / 1e12 / peak, 1, 0.005) << name;
  }
}

TEST(Chips, ErrorsNameChipKeyAndValue) {
  EXPECT_TRUE(has(error_of("{"), "not JSON"));
  EXPECT_TRUE(has(error_of("[]"), "\"chips\""));
  EXPECT_TRUE(has(error_of(R"({"chips": []})"), "no chip"));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip.erase("clock_hz"); }),
                  "chip v6e lacks the key \"clock_hz\""));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["clock"] = chip["clock_hz"]; }),
                  "chip v6e has the key \"clock\", which is not known"));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["clock_hz"] = 1e9; }), "\"source\""));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["clock_hz"]["value"] = "fast"; }),
                  "chip v6e: clock_hz must be a number; it is \"fast\""));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["hop_seconds"]["value"] = -1; }),
                  "chip v6e: hop_seconds is -1; it must be from 0 to 10"));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["clock_hz"]["value"] = 0; }),
                  "chip v6e: clock_hz is 0; it must be from 1000 to 1e+12"));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["links"]["value"] = 1.5; }),
                  "chip v6e: links is 1.5; it must be a whole number"));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["mxu_rate"]["value"].erase("bf16"); }),
                  "chip v6e: mxu_rate lacks the key \"bf16\""));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["mxu_rate"]["value"]["int4"] = 4; }),
                  "no element type"));
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["name"] = "v5e"; }), "two chips"));
}

// Each constant has a least and a largest value, and no value makes anything but an Error.
TEST(Chips, EveryConstantIsBounded) {
  const Json v6e = Json::parse(builtin_chips_text())["chips"][3];
  for (const auto& [key, entry] : v6e.items()) {
    if (key == "name") continue;
    for (const double value : {-1.0, -1e300, 1e18, 1e300}) {
      const std::string error = error_of_edit([&, key = key](Json& chip) {
        if (key == "mxu_rate")
          chip[key]["value"]["bf16"] = value;
        else
          chip[key]["value"] = value;
      });
      EXPECT_TRUE(has(error, "; it must be from ")) << key << ": " << error;
    }
  }
  EXPECT_TRUE(has(error_of_edit([](Json& chip) { chip["links"]["value"] = 4294967298.0; }),
                  "links is 4.29497e+09; it must be from 1 to 64"));
  EXPECT_TRUE(has(error_of("{\"chips\": [1e999]}"), "1e999"));
}

TEST(Chips, AnEditedCopyIsRead) {
  Json json = Json::parse(builtin_chips_text());
  Json chip = json["chips"][3];
  chip["name"] = "mine";
  chip["hbm_bytes_per_second"] = {{"value", 2e12}, {"source", "measured here"}};
  const std::vector<tpu::Chip> chips = parse_chips(Json({{"chips", {chip}}}).dump());
  EXPECT_EQ(find_chip(chips, "mine").hbm_bytes_per_second, 2e12);
  try {
    find_chip(chips, "v6e");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no chip 'v6e'; there are mine");
  }
}

}  // namespace
}  // namespace cmm::sim
