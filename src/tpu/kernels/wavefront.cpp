#include "tpu/kernels/wavefront.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "schedule/schedule.hpp"
#include "tpu/kernels/wavefront/actions.hpp"
#include "tpu/kernels/wavefront/code.hpp"
#include "tpu/kernels/wavefront/cost.hpp"
#include "tpu/kernels/wavefront/products.hpp"
#include "tpu/kernels/wavefront/resources.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

using schedule::TileSchedule;
using schedule::TileShape;
using wavefront::Actions;
using wavefront::Code;
using wavefront::Context;
using wavefront::Lane;
using wavefront::ScalarWords;
using wavefront::Section;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, cat("wavefront kernel: ", what));
}

void check_ring(const Ring& ring) {
  if (ring.mesh.empty()) refuse("the mesh has no axes; give at least one");
  for (const int size : ring.mesh) {
    if (size < 1) refuse(cat("the mesh has an axis of ", size, " devices; give at least 1"));
  }
  const int num_axes = static_cast<int>(ring.mesh.size());
  if (ring.axis < 0 || ring.axis >= num_axes) {
    refuse(cat("axis is ", ring.axis, "; the mesh has axes 0 to ", num_axes - 1));
  }
}

void check_options(const WavefrontOptions& options) {
  check_ring(options.ring);
  if (options.asked.m < 1) refuse(cat("m is ", options.asked.m, "; give at least 1"));
  if (options.asked.k < 1) refuse(cat("k is ", options.asked.k, "; give at least 1"));
  if (options.asked.cols.empty()) refuse("there is no right side; give at least one");
  for (const std::int64_t cols : options.asked.cols) {
    if (cols < 1) refuse(cat("a right side has ", cols, " columns on a device; give at least 1"));
  }
  if (options.element == Element::kS32) {
    refuse("x and y cannot be int32, which is a type of sums; give f32, bf16, fp8 or int8");
  }
  const Element sum = sum_element(options.element);
  if (sum_element(options.out_element) != sum) {
    refuse(cat("sums of ", element_name(options.element), " are ", element_name(sum),
               " and cannot be returned as ", element_name(options.out_element)));
  }
  if (options.collective_id < 0) {
    refuse(cat("collective_id is ", options.collective_id,
               "; the barrier semaphore is found by it, so give 0 or more"));
  }
}

// Rows of x and of out lie in tiles; one step along rows must be whole tiles of both.
int row_tile(const WavefrontOptions& options, const Chip& chip) {
  return std::max(sublane_rows(chip.generation, options.element),
                  sublane_rows(chip.generation, options.out_element));
}

void check_fit(const TileShape& shape, const WavefrontOptions& options, const Chip& chip) {
  const auto require = [](const char* what, std::int64_t has, std::int64_t needed) {
    if (has < needed)
      refuse(cat("the schedule is for ", what, " ", has, "; ", needed, " are asked"));
  };
  if (shape.num_devices != options.ring.size()) {
    refuse(cat("the schedule is for ", shape.num_devices, " devices; the axis has ",
               options.ring.size()));
  }
  if (shape.cols.size() != options.asked.cols.size()) {
    refuse(cat("the schedule is for ", shape.cols.size(), " right sides; there are ",
               options.asked.cols.size()));
  }
  require("shard_rows", shape.shard_rows, ceil_div(options.asked.m, options.ring.size()));
  require("k", shape.k, options.asked.k);
  for (std::size_t i = 0; i < shape.cols.size(); ++i) {
    require("cols", shape.cols[i], options.asked.cols[i]);
  }
  const int tile = row_tile(options, chip);
  if (shape.row_tile % tile != 0) {
    refuse(cat("the schedule is for tiles of ", shape.row_tile, " rows; those of ",
               element_name(options.element), " and ", element_name(options.out_element), " on ",
               chip.name, " have ", tile));
  }
}

class Body {
 public:
  Body(const Context& context, std::size_t num_steps)
      : context_(context), build_(context.build), actions_(context), num_steps_(num_steps) {}

  void write() {
    if (context_.shape.num_devices > 1) {
      announce_entry(build_, context_.position, context_.resources.barrier);
    }
    build_.loop(constant(0), constant(static_cast<std::int64_t>(num_steps_)), [&](Scalar step) {
      step_ = step;
      row_ = build_.mul(step, constant(context_.code.width));
      for (const Section section : wavefront::kSections) {
        if (section == Section::kAfter) write_products();
        read_first_words(section);
        for (const Lane& lane : context_.code.lanes) {
          if (lane.section == section) write_lane(lane);
        }
      }
    });
    step_ = constant(static_cast<std::int64_t>(num_steps_));
    for (const auto& [lane, words] : context_.code.drain) {
      ScalarWords scalars;
      for (const wavefront::Word& word : words) scalars[word.name] = constant(word.value);
      build_.note(cat("at the end, ", lane.name, ": ", wavefront::meaning(lane.kind)),
                  [&] { write_action(lane, scalars); });
    }
  }

 private:
  Scalar constant(std::int64_t value) { return build_.constant(value); }
  Scalar read(int at) {
    return build_.read(context_.resources.table, {build_.add(row_, constant(at))});
  }

  // All of a section at once: a read takes some cycles, and the compiler moves none ahead of a
  // wait.
  void read_first_words(Section section) {
    build_.note("which of the next actions the step has", [&] {
      for (const Lane& lane : context_.code.lanes) {
        if (lane.section == section) first_words_[lane.at] = read(lane.at);
      }
      if (section == Section::kOperands) body_ = read(context_.code.product_at);
    });
  }

  // Reads the words behind the first only where the first says that there is something to do.
  void write_lane(const Lane& lane) {
    build_.note(cat(lane.name, ": ", wavefront::meaning(lane.kind)), [&] {
      const Scalar first = first_words_.at(lane.at);
      build_.when(build_.at_least(first, constant(0)), [&] {
        ScalarWords words = {{lane.words[0], first}};
        for (std::size_t i = 1; i < lane.words.size(); ++i) {
          words[lane.words[i]] = read(lane.at + static_cast<int>(i));
        }
        write_action(lane, words);
      });
    });
  }

  void write_action(const Lane& lane, const ScalarWords& words) {
    print(wavefront::lane_name(lane.kind, lane.variant), words);
    actions_.write(lane.kind, lane.variant, words);
  }

  void write_products() {
    for (std::size_t i = 0; i < context_.code.product_words.size(); ++i) {
      if (context_.code.product_words[i].empty()) continue;
      const int number = static_cast<int>(i);
      build_.note(
          cat("product of body ", number, ": multiplies groups of x with blocks of y"), [&] {
            build_.when(build_.equal(body_, constant(number)), [&] { write_product_of(number); });
          });
    }
  }

  void write_product_of(int number) {
    ScalarWords words;
    int at = context_.code.product_at;
    for (const std::string& name : context_.code.product_words[static_cast<std::size_t>(number)]) {
      words[name] = read(++at);
    }
    print(cat("product of body ", number), words);
    build_.scope(cat("multiply_", number), [&] { write_product(context_, number, words); });
    build_.note(
        cat("store of body ", number, ": ", wavefront::meaning(wavefront::Kind::kStore)), [&] {
          build_.when(is_complete(context_, words), [&] { actions_.write_stores(number, words); });
        });
  }

  void print(const std::string& what, const ScalarWords& words) {
    if (!context_.options.debug) return;
    std::string text = cat("step {}: ", what);
    std::vector<Scalar> values = {step_};
    for (const auto& [name, value] : words) {
      text += cat(", ", name, " {}");
      values.push_back(value);
    }
    build_.debug_print(std::move(text), std::move(values));
  }

  const Context& context_;
  Builder& build_;
  Actions actions_;
  const std::size_t num_steps_;
  Scalar step_, row_, body_;
  std::map<int, Scalar> first_words_;  // of a lane, by its place
};

TableLayout layout_of(const Code& code) {
  TableLayout layout = {.width = code.width, .body_at = code.product_at, .fields = {}};
  for (const Lane& lane : code.lanes) {
    for (std::size_t i = 0; i < lane.words.size(); ++i) {
      layout.fields.push_back({cat(lane.name, ": ", lane.words[i]), lane.at + static_cast<int>(i)});
    }
  }
  layout.fields.push_back({"product: body", code.product_at});
  for (int body = 0; body < static_cast<int>(code.product_words.size()); ++body) {
    int at = code.product_at;
    for (const std::string& name : code.product_words[static_cast<std::size_t>(body)]) {
      layout.fields.push_back({cat("product of body ", body, ": ", name), ++at, body});
    }
  }
  return layout;
}

}  // namespace

TileShape padded_shape(const WavefrontOptions& options, const Chip& chip) {
  check_options(options);
  TileShape shape;
  shape.num_devices = options.ring.size();
  shape.row_tile = row_tile(options, chip);
  shape.shard_rows = round_up(ceil_div(options.asked.m, shape.num_devices), shape.row_tile);
  shape.k = round_up(options.asked.k, kLanes);
  for (const std::int64_t cols : options.asked.cols) shape.cols.push_back(round_up(cols, kLanes));
  return shape;
}

Kernel wavefront_kernel(const TileSchedule& schedule, const WavefrontOptions& options,
                        const Chip& chip) {
  check_options(options);
  if (!multiplies(chip, options.element)) {
    throw Error(ErrorCode::kUnsupported,
                cat(chip.name, " does not multiply ", element_name(options.element)));
  }
  const TileShape& shape = schedule.shape;
  const std::string fault = schedule::verify(schedule);
  if (!fault.empty()) refuse(cat("the schedule is wrong: ", fault));
  check_fit(shape, options, chip);

  const Code code = wavefront::encode(schedule);
  Builder builder(cat("all_gather_matmul_wavefront_", 2 * shape.side_rows, "x", shape.block_k, "x",
                      shape.block_cols));
  const wavefront::Resources resources =
      wavefront::declare(builder, shape, options, static_cast<std::int64_t>(code.table.size()));
  wavefront::check_capacity(builder.program(), chip);

  const Context context = {builder, shape,     options,
                           code,    resources, ring_position(builder, options.ring)};
  Body(context, schedule.steps.size()).write();
  Program& program = builder.program();
  program.num_devices = options.ring.num_devices();
  if (shape.num_devices > 1) program.collective_id = options.collective_id;
  program.cost = wavefront::cost(schedule, options);
  return {.program = builder.finish(),
          .ring = options.ring,
          .asked = options.asked,
          .rows_asked = ceil_div(options.asked.m, shape.num_devices),
          .shard_rows = shape.shard_rows,
          .padded = {.m = shape.num_devices * shape.shard_rows, .k = shape.k, .cols = shape.cols},
          .element = options.element,
          .out_element = options.out_element,
          .rhs_transposed = options.rhs_transposed,
          .table = code.table,
          .table_layout = layout_of(code),
          .gathered = shape.gathered};
}

}  // namespace cmm::tpu
