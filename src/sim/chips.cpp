#include "sim/chips.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::sim {
namespace {

using Json = nlohmann::json;
using tpu::Chip;

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(ErrorCode::kBadFile, cat("TPU chips: ", parts...));
}

// What a constant may be, both ends included. Far around every chip there is: what a person gets
// wrong by a power of ten still counts, what no machine can be is refused before it overflows a
// count or takes the simulator for ever. docs/tpu.md has the same table.
struct Range {
  double min = 0;
  double max = 0;
};
constexpr Range kBytes = {65536, 1e12};
constexpr Range kHertz = {1e3, 1e12};
constexpr Range kBytesPerSecond = {1e3, 1e16};
constexpr Range kSeconds = {0, 10};
constexpr Range kCycles = {0, 1e6};
constexpr Range kRate = {0, 1000};  // 0: not multiplied

double number(const Json& json, const Range& range, const std::string& where) {
  if (!json.is_number()) fail(where, " must be a number; it is ", json.dump());
  const double value = json.get<double>();
  if (!(value >= range.min && value <= range.max))
    fail(where, " is ", value, "; it must be from ", range.min, " to ", range.max);
  return value;
}

// Takes the constants of one chip out of its object, one after another.
class ChipReader {
 public:
  ChipReader(const Json& json, std::string name) : json_(json), name_(std::move(name)) {}

  const Json& value(const char* key) {
    read_.insert(key);
    if (!json_.contains(key)) fail("chip ", name_, " lacks the key \"", key, "\"");
    const Json& entry = json_.at(key);
    const bool has_both = entry.is_object() && entry.contains("value") && entry.contains("source");
    if (!has_both || entry.size() != 2 || !entry.at("source").is_string())
      fail(where(key), " must be {\"value\": ..., \"source\": \"...\"}; it is ", entry.dump());
    return entry.at("value");
  }

  std::string where(const std::string& key) const { return cat("chip ", name_, ": ", key); }

  void read(const char* key, double& to, const Range& range) {
    to = number(value(key), range, where(key));
  }

  template <class Integer>
  void read_count(const char* key, Integer& to, const Range& range) {
    const double counted = number(value(key), range, where(key));
    if (counted != std::floor(counted))
      fail(where(key), " is ", counted, "; it must be a whole number");
    to = static_cast<Integer>(counted);
  }

  void read_rates(const char* key, std::vector<double>& rates) {
    const Json& json = value(key);
    if (!json.is_object()) fail(where(key), " must be an object; it is ", json.dump());
    for (int i = 0; i <= static_cast<int>(tpu::Element::kS32); ++i) {
      const std::string name(tpu::element_name(static_cast<tpu::Element>(i)));
      if (!json.contains(name)) fail(where(key), " lacks the key \"", name, "\"");
      rates.push_back(number(json.at(name), kRate, where(cat(key, ".", name))));
    }
    if (json.size() != rates.size())
      fail(where(key), " has a key that is no element type; there are f32, bf16, fp8, int8, int32");
  }

  void check_all_read() const {
    for (const auto& [key, entry] : json_.items()) {
      if (key != "name" && !read_.contains(key))
        fail("chip ", name_, " has the key \"", key, "\", which is not known");
    }
  }

 private:
  const Json& json_;
  std::string name_;
  std::set<std::string> read_;
};

Chip parse_chip(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json.at("name").is_string())
    fail("each chip must be an object with a \"name\"");
  Chip chip;
  chip.name = json.at("name").get<std::string>();
  ChipReader reader(json, chip.name);
  reader.read_count("generation", chip.generation, {4, 7});
  reader.read_count("cores_per_device", chip.cores_per_device, {1, 2});
  reader.read_count("links", chip.links, {1, 64});
  reader.read_count("torus_dims", chip.torus_dims, {1, 8});
  reader.read_count("wrap_multiple", chip.wrap_multiple, {1, 65536});
  reader.read("clock_hz", chip.clock_hz, kHertz);
  reader.read_count("vmem_bytes", chip.vmem_bytes, kBytes);
  reader.read_count("smem_bytes", chip.smem_bytes, {4096, 1e9});
  reader.read_count("num_semaphores", chip.num_semaphores, {8, 1e6});
  reader.read("hbm_bytes_per_second", chip.hbm_bytes_per_second, kBytesPerSecond);
  reader.read("link_bytes_per_second", chip.link_bytes_per_second, kBytesPerSecond);
  reader.read("hop_seconds", chip.hop_seconds, kSeconds);
  reader.read("copy_seconds", chip.copy_seconds, kSeconds);
  reader.read("entry_seconds", chip.entry_seconds, kSeconds);
  reader.read_count("num_mxus", chip.num_mxus, {1, 1024});
  reader.read_count("mxu_tile", chip.mxu_tile, {8, 8192});
  reader.read("mxu_cycles_per_row", chip.mxu_cycles_per_row, {1e-3, 1e3});
  reader.read("mxu_push_cycles", chip.mxu_push_cycles, kCycles);
  reader.read_rates("mxu_rate", chip.mxu_rate);
  reader.read("block_cycles", chip.block_cycles, kCycles);
  reader.read("wide_block_cycles", chip.wide_block_cycles, kCycles);
  reader.read("step_cycles", chip.step_cycles, kCycles);
  reader.read("body_cycles", chip.body_cycles, kCycles);
  reader.read("send_cycles", chip.send_cycles, kCycles);
  reader.read("load_cycles", chip.load_cycles, kCycles);
  reader.read("store_cycles", chip.store_cycles, kCycles);
  reader.read("column_cycles", chip.column_cycles, kCycles);
  reader.read("credit_cycles", chip.credit_cycles, kCycles);
  reader.read("reference_step_cycles", chip.reference_step_cycles, kCycles);
  reader.read("semaphore_exit_cycles", chip.semaphore_exit_cycles, kCycles);
  reader.check_all_read();
  return chip;
}

}  // namespace

std::vector<Chip> parse_chips(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {  // not JSON, or a number that no double holds
    fail("the text is not JSON: ", error.what());
  }
  if (!json.is_object() || json.size() != 1 || !json.contains("chips") ||
      !json.at("chips").is_array())
    fail("the text must be an object with one key, \"chips\", a list");
  std::vector<Chip> chips;
  std::set<std::string> names;
  for (const Json& entry : json.at("chips")) {
    chips.push_back(parse_chip(entry));
    if (!names.insert(chips.back().name).second)
      fail("there are two chips of the name ", chips.back().name);
  }
  if (chips.empty()) fail("there is no chip");
  return chips;
}

const std::vector<Chip>& builtin_chips() {
  static const std::vector<Chip> chips = parse_chips(builtin_chips_text());
  return chips;
}

const Chip& find_chip(const std::vector<Chip>& chips, std::string_view name) {
  for (const Chip& chip : chips) {
    if (chip.name == name) return chip;
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("no chip '", name, "'; there are ", joined(chips, ", ", &Chip::name)));
}

}  // namespace cmm::sim
