// What the wavefront kernel takes up, moves, refuses and says about itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/integers.hpp"
#include "cmm/error.hpp"
#include "schedule/schedule.hpp"
#include "schedule/tile_needs.hpp"
#include "support/text_of_error.hpp"
#include "tpu/interpret/interpret.hpp"
#include "tpu/operands.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using cmm::test::simple_schedule;
using schedule::TileAction;
using schedule::TileSchedule;
using schedule::TileStep;
using schedule::XHome;
using test::chip_of_generation;
using test::options_of;
using test::random_case;
using test::small_case;
using test::WavefrontCase;

constexpr unsigned kSeeds = 40;

Kernel kernel_of(const WavefrontCase& c) {
  return wavefront_kernel(simple_schedule(c.shape), c.options, chip_of_generation(c.generation));
}

// The planner counts by the shape alone what the kernel then declares.
TEST(WavefrontNeeds, AreWhatTheShapeSays) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const WavefrontCase c = random_case(seed);
    const Program program = kernel_of(c).program;
    EXPECT_EQ(vmem_bytes(program, chip_of_generation(c.generation)),
              schedule::vmem_bytes(c.shape, {c.options.element, c.options.out_element}))
        << c.name;
    EXPECT_EQ(num_semaphores(program), schedule::num_semaphores(c.shape)) << c.name;
  }
}

// Against what the virtual devices have moved. A send reads HBM where its piece lies there, and
// writes it where the piece goes there; a copy within HBM does both.
TEST(WavefrontNeeds, CountsWhatItMoves) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const WavefrontCase c = random_case(seed);
    const Kernel kernel = kernel_of(c);
    const RunResult result =
        run(kernel.program, chip_of_generation(c.generation),
            Expectation(kernel, seed).inputs(kernel), {.copies = CopyMode::kEager});
    ASSERT_FALSE(result.fault) << c.name;
    const std::int64_t P = c.shape.num_devices;
    const std::int64_t own = c.shape.shard_rows * c.shape.k * element_bytes(c.options.element);
    const Cost& cost = kernel.program.cost;
    EXPECT_EQ(P * cost.remote_bytes, result.remote_bytes) << c.name;
    EXPECT_EQ(cost.remote_bytes, (P - 1) * own) << c.name;
    std::int64_t hbm_bytes = result.local_bytes;
    if (c.shape.x_home == XHome::kVmem) {
      hbm_bytes += P > 1 ? P * own : 0;
    } else {
      hbm_bytes += 2 * result.remote_bytes + (c.shape.gathered ? P * own : 0);
    }
    EXPECT_EQ(P * cost.hbm_bytes, hbm_bytes) << c.name;
    std::int64_t cols = 0;
    for (const std::int64_t of_one : c.options.asked.cols) cols += of_one;
    EXPECT_EQ(cost.flops, 2 * c.options.asked.m * c.options.asked.k * cols) << c.name;
  }
}

// The actions of a step by the names that their fields begin with.
std::map<std::string, int> actions_of(const TileStep& step) {
  static const char* const kNames[] = {
      "await entry", "await departure", "await arrival", "await x", "await y",
      "await store", "await store x",   "await credit",  "send",    "load x",
      "load y",      "store",           "store x",       "grant"};
  std::map<std::string, int> counts;
  for (const auto* actions : {&step.waits, &step.starts, &step.operands, &step.after}) {
    for (const TileAction& action : *actions) {
      std::string name = kNames[static_cast<int>(action.kind)];
      if (action.kind == TileAction::Kind::kAwaitStore) {
        name += " of body " + std::to_string(action.body);
      }
      for (const char* with_side : {"departure", "arrival", "credit", "send", "grant"}) {
        if (name.find(with_side) == std::string::npos) continue;
        name += action.side == schedule::Side::kForward ? " forward" : " backward";
      }
      if (action.kind != TileAction::Kind::kStore) ++counts[name];
    }
  }
  return counts;
}

// "send forward 1: piece" is a field of "send forward".
std::string lane_of(const std::string& field) {
  const std::string lane = field.substr(0, field.find(':'));
  return lane.substr(0, lane.rfind(' '));
}

TEST(WavefrontTable, HasEveryActionOfEveryStep) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const WavefrontCase c = random_case(seed);
    const TileSchedule schedule = simple_schedule(c.shape);
    const Kernel kernel = kernel_of(c);
    const TableLayout& layout = kernel.table_layout;
    ASSERT_EQ(kernel.table.size(), schedule.steps.size() * static_cast<std::size_t>(layout.width));
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
      const auto* const row = &kernel.table[i * static_cast<std::size_t>(layout.width)];
      std::map<std::string, int> counts;
      std::string last;  // field's lane
      for (const TableLayout::Field& field : layout.fields) {
        const std::string lane = field.name.substr(0, field.name.find(':'));
        if (lane.starts_with("product")) continue;
        // The first word of a lane says whether there is such an action.
        if (lane != last && row[field.at] >= 0) ++counts[lane_of(field.name)];
        last = lane;
      }
      EXPECT_EQ(counts, actions_of(schedule.steps[i])) << c.name << " step " << i;
      const auto body =
          std::find_if(layout.fields.begin(), layout.fields.end(),
                       [](const auto& field) { return field.name == "product: body"; });
      ASSERT_NE(body, layout.fields.end());
      EXPECT_EQ(row[body->at], schedule.steps[i].body) << c.name << " step " << i;
    }
  }
}

// Words have places of their own, but for those of the bodies: a step has one.
TEST(WavefrontTable, HasAPlaceForEachWord) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const TableLayout layout = kernel_of(random_case(seed)).table_layout;
    std::map<int, std::string> owners;
    std::map<std::string, int> names;
    for (const TableLayout::Field& field : layout.fields) {
      EXPECT_EQ(names[field.name]++, 0) << field.name;
      EXPECT_TRUE(0 <= field.at && field.at < layout.width) << field.name;
      const std::string owner = field.name.starts_with("product of body") ? "product" : field.name;
      const auto [entry, is_new] = owners.try_emplace(field.at, owner);
      EXPECT_TRUE(is_new || entry->second == owner) << field.name << " and " << entry->second;
    }
    EXPECT_EQ(static_cast<int>(owners.size()), layout.width);
  }
}

// Where pieces, groups and blocks are all alike no word tells of a size.
TEST(WavefrontTable, HasNoWordsForSizesThatAreAllAlike) {
  const WavefrontCase c = small_case("plain", options_of({{2}, 0}, {32, 128, {128}}));
  for (const TableLayout::Field& field : kernel_of(c).table_layout.fields) {
    for (const char* word : {"size", "form", "k block"}) {
      EXPECT_EQ(field.name.find(word), std::string::npos) << field.name;
    }
  }
}

TEST(Wavefront, SaysWhatItsOperandsAre) {
  WavefrontCase c = small_case("ragged", options_of({{3}, 0}, {20, 200, {72, 130}}));
  c.shape.gathered = true;
  c.options.rhs_transposed = true;
  const Kernel kernel = kernel_of(c);
  EXPECT_EQ(kernel.rows_asked, 7);
  EXPECT_EQ(kernel.shard_rows, 8);
  EXPECT_EQ(kernel.padded.m, 24);
  EXPECT_EQ(kernel.padded.k, 256);
  EXPECT_EQ(kernel.padded.cols, (std::vector<std::int64_t>{128, 256}));
  EXPECT_TRUE(kernel.gathered);
  EXPECT_EQ(kernel.program.collective_id, 0);
  using Shapes = std::vector<std::vector<std::int64_t>>;
  Shapes inputs, outputs;
  for (const Buffer& buffer : kernel.program.buffers) {
    if (buffer.role == Role::kInput) inputs.push_back(buffer.shape);
    if (buffer.role == Role::kOutput) outputs.push_back(buffer.shape);
  }
  const auto words = static_cast<std::int64_t>(kernel.table.size());
  EXPECT_EQ(inputs, (Shapes{{words}, {8, 256}, {128, 256}, {256, 256}}));
  EXPECT_EQ(outputs, (Shapes{{24, 128}, {24, 256}, {24, 256}}));
}

// A device without neighbours needs no barrier, and so no id of one.
TEST(Wavefront, HasNoCollectiveIdOnOneDevice) {
  const Kernel kernel = kernel_of(small_case("P = 1", options_of({{1}, 0}, {8, 128, {128}})));
  EXPECT_FALSE(kernel.program.collective_id);
}

TEST(Wavefront, PrintsEachActionOnEveryDevice) {
  WavefrontCase c = small_case("debug", options_of({{3}, 0}, {48, 128, {256}}));
  c.options.debug = true;
  const Kernel kernel = kernel_of(c);
  const RunResult result =
      run(kernel.program, chip_of_generation(6), Expectation(kernel, 1).inputs(kernel), {});
  ASSERT_FALSE(result.fault);
  const auto count = [&](const std::string& text) {
    return std::ranges::count_if(result.printed, [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  };
  EXPECT_EQ(count(": send forward"), 3 * 2);
  EXPECT_EQ(count(": await arrival backward"), 3 * 2);
  EXPECT_EQ(count("device 2: step"), static_cast<std::ptrdiff_t>(result.printed.size() / 3));
  EXPECT_EQ(count(": product of body 0"), 3 * 3 * 2);
  EXPECT_EQ(count(": send forward, arrival 1, departure 0, form 0, piece 0, slot -1, to slot 1"),
            3);
}

TEST(PaddedShape, IsOfWholeTilesOfXAndOut) {
  struct Padded {
    Element element, out;
    int generation;
    std::int64_t row_tile;
  };
  for (const Padded& padded : {Padded{Element::kBF16, Element::kBF16, 6, 8},
                               {Element::kBF16, Element::kBF16, 7, 16},
                               {Element::kF32, Element::kBF16, 7, 16},
                               {Element::kF32, Element::kF8E4M3, 5, 32},
                               {Element::kS8, Element::kS32, 6, 32}}) {
    WavefrontOptions options = options_of({{2, 3}, 1}, {100, 129, {1, 128, 300}}, padded.element);
    options.out_element = padded.out;
    const schedule::TileShape shape = padded_shape(options, chip_of_generation(padded.generation));
    EXPECT_EQ(shape.num_devices, 3);
    EXPECT_EQ(shape.row_tile, padded.row_tile);
    EXPECT_EQ(shape.shard_rows, round_up(34, padded.row_tile));
    EXPECT_EQ(shape.k, 256);
    EXPECT_EQ(shape.cols, (std::vector<std::int64_t>{128, 128, 384}));
  }
}

struct Refusal {
  const char* what;
  std::function<void(WavefrontOptions&, TileSchedule&, Chip&)> change;
  std::vector<const char*> words;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

const std::vector<Refusal>& refusals() {
  using O = WavefrontOptions;
  using S = TileSchedule;
  static const std::vector<Refusal> kRefusals = {
      {"m = 0", [](O& o, S&, Chip&) { o.asked.m = 0; }, {"m is 0"}},
      {"k = 0", [](O& o, S&, Chip&) { o.asked.k = 0; }, {"k is 0"}},
      {"no right side", [](O& o, S&, Chip&) { o.asked.cols = {}; }, {"no right side"}},
      {"n = 0", [](O& o, S&, Chip&) { o.asked.cols = {0}; }, {"0 columns"}},
      {"int32", [](O& o, S&, Chip&) { o.element = Element::kS32; }, {"int32"}},
      {"int8 from bf16",
       [](O& o, S&, Chip&) { o.out_element = Element::kS8; },
       {"sums of bf16 are f32", "int8"}},
      {"no axis", [](O& o, S&, Chip&) { o.ring.axis = 1; }, {"axis is 1", "0 to 0"}},
      {"no mesh", [](O& o, S&, Chip&) { o.ring.mesh = {}; }, {"no axes"}},
      {"collective id", [](O& o, S&, Chip&) { o.collective_id = -1; }, {"collective_id is -1"}},
      {"other devices", [](O& o, S&, Chip&) { o.ring.mesh = {4}; }, {"for 3 devices", "has 4"}},
      {"other right sides",
       [](O& o, S&, Chip&) {
         o.asked.cols = {128, 128};
       },
       {"for 1 right sides", "there are 2"}},
      {"more rows", [](O& o, S&, Chip&) { o.asked.m = 49; }, {"shard_rows 16", "17"}},
      {"more k", [](O& o, S&, Chip&) { o.asked.k = 257; }, {"k 256", "257"}},
      {"more columns", [](O& o, S&, Chip&) { o.asked.cols = {129}; }, {"cols 128", "129"}},
      {"smaller tiles",
       [](O&, S&, Chip& chip) { chip.generation = 7; },
       {"tiles of 8 rows", "have 16"}},
      {"a wait too few",
       [](O&, S& s, Chip&) { s.drain.pop_back(); },
       {"the schedule is wrong", "still in flight"}},
      {"too much VMEM",
       [](O&, S&, Chip& chip) { chip.vmem_bytes = 40000; },
       {"163840 bytes of VMEM", "x slots 24576", "y slots 131072", "out slots of body 0 8192",
        "40000"},
       ErrorCode::kUnsupported},
      {"too many semaphores",
       [](O&, S&, Chip& chip) { chip.num_semaphores = 17; },
       {"18 semaphores", "arrivals forward 3", "departures backward 2", "y loaded 2", "17"},
       ErrorCode::kUnsupported},
      {"a table too long",
       [](O&, S&, Chip& chip) { chip.smem_bytes = 1424; },
       {"table", "words", "400"},
       ErrorCode::kUnsupported},
      {"a type the chip lacks",
       [](O&, S&, Chip& chip) { chip.mxu_rate[1] = 0; },
       {"does not multiply bf16"},
       ErrorCode::kUnsupported},
  };
  return kRefusals;
}

TEST(Wavefront, RefusesWithTheValues) {
  for (const Refusal& refusal : refusals()) {
    SCOPED_TRACE(refusal.what);
    const WavefrontCase c = small_case("refused", options_of({{3}, 0}, {48, 256, {128}}));
    WavefrontOptions options = c.options;
    TileSchedule schedule = simple_schedule(c.shape);
    Chip chip = chip_of_generation(6);
    refusal.change(options, schedule, chip);
    try {
      wavefront_kernel(schedule, options, chip);
      ADD_FAILURE() << "is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), refusal.code) << error.what();
      for (const char* word : refusal.words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace cmm::tpu
