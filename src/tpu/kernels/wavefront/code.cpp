#include "tpu/kernels/wavefront/code.hpp"

#include <map>
#include <utility>

#include "base/text.hpp"
#include "schedule/schedule.hpp"

namespace cmm::tpu::wavefront {
namespace {

using schedule::Side;
using schedule::TileAction;
using schedule::TileOp;
using schedule::TileSchedule;
using schedule::TileShape;
using schedule::TileStep;
using schedule::XHome;

int variant_of(const TileAction& action) {
  if (action.kind == Kind::kAwaitStore) return action.body;
  return has_side(action.kind) ? static_cast<int>(action.side) : 0;
}

// Puts the actions of a schedule into words, each in its turn: what an action waits for, and how
// large that is, follows from the actions before it.
class Encoder {
 public:
  Encoder(const TileShape& shape, AllForms& forms) : shape_(shape), forms_(forms) {
    for (auto& slots : received_slot_) {
      slots.assign(static_cast<std::size_t>(shape.num_devices * shape.num_groups()), 0);
    }
    loaded_x_.resize(static_cast<std::size_t>(shape.x_slots));
    stored_x_ = loaded_x_;
    loaded_y_.resize(static_cast<std::size_t>(shape.y_slots));
    for (const schedule::TileBody& body : shape.bodies) stored_.emplace_back(body.out_slots);
    forms.stores.resize(shape.bodies.size());
    forms.tiles.resize(shape.bodies.size());
  }

  Words words(const TileAction& action) {
    const auto side = static_cast<std::size_t>(action.side);
    const auto slot = static_cast<std::size_t>(action.slot);
    switch (action.kind) {
      case Kind::kAwaitEntry:
      case Kind::kAwaitCredit:
      case Kind::kGrant:
        return {{"flag", 0}};
      case Kind::kAwaitDeparture: {
        const int oldest = awaited_[side]++;
        Words words = {{"semaphore", oldest % shape_.departures}};
        add_form(words, "size", forms_.pieces[side], sent_[side][static_cast<std::size_t>(oldest)]);
        return words;
      }
      case Kind::kAwaitArrival: {
        const int at = received_slot(action.side, action.hop, action.piece);
        Words words = {{"semaphore", static_cast<int>(shape_.arrival(action.side, action.hop,
                                                                     action.piece, at))}};
        add_form(words, "size", forms_.pieces[side], piece_rows(action));
        return words;
      }
      case Kind::kAwaitX: {
        Words words = {{"slot", action.slot}};
        add_form(words, "size", forms_.groups, loaded_x_[slot]);
        return words;
      }
      case Kind::kAwaitY: {
        Words words = {{"slot", action.slot}};
        add_form(words, "size", forms_.blocks, loaded_y_[slot]);
        return words;
      }
      case Kind::kAwaitStore:
        return await_store(action);
      case Kind::kAwaitStoreX: {
        Words words = {{"slot", action.slot}};
        add_form(words, "size", forms_.groups, stored_x_[slot]);
        return words;
      }
      case Kind::kSend:
        return send(action);
      case Kind::kLoadX:
        return load_x(action);
      case Kind::kLoadY:
        return load_y(action);
      case Kind::kStoreX: {
        stored_x_[slot] = group_rows(action.group);
        Words words = {{"slot", action.slot}, {"hop", action.hop}, {"group", action.group}};
        add_form(words, "size", forms_.groups, stored_x_[slot]);
        return words;
      }
      case Kind::kStore:  // is part of the product, whose words say where it goes
        return {};
    }
    return {};
  }

  Words product(const TileStep& step) {
    Words words = words_of_product(step);
    if (step.k_block + 1 < shape_.num_k_blocks()) {  // only the last k block goes to an out slot
      for (Word& word : words) {
        const bool is_operand = word.name.starts_with("x slot") || word.name.starts_with("y slot");
        if (!is_operand && word.name != "k block") word.value = schedule::kNone;
      }
    }
    return words;
  }

 private:
  Words words_of_product(const TileStep& step) {
    const auto body_number = static_cast<std::size_t>(step.body);
    const schedule::TileBody& body = shape_.bodies[body_number];
    Words words = {{"out slot", step.out_slot}};
    if (shape_.num_k_blocks() > 1) words.push_back({"k block", step.k_block});
    const auto blocks = static_cast<std::size_t>(body.blocks);
    std::vector<TileSize>& stored = stored_[body_number][static_cast<std::size_t>(step.out_slot)];
    stored.clear();
    const auto add_tile = [&](const TileOp& op, std::int64_t cols) {
      const auto number = stored.size();
      const TileSize size = {group_rows(op.group), cols};
      const int right_side = static_cast<int>(shape_.right_side_of(op.block));
      stored.push_back(size);
      words.push_back({cat("hop ", number), op.hop});
      words.push_back({cat("group ", number), op.group});
      add_form(words, cat("form ", number), forms_.stores[body_number],
               StoreForm{right_side, size});
    };
    if (body.free) {
      for (std::size_t i = 0; i < step.ops.size(); ++i) {
        words.push_back({cat("x slot ", i), step.ops[i].x_slot});
        words.push_back({cat("y slot ", i), step.ops[i].y_slot});
        words.push_back({cat("block ", i), block_in_right_side(step.ops[i].block)});
        add_tile(step.ops[i], shape_.block_columns(step.ops[i].block).size());
      }
      return words;
    }
    words.push_back({"x slot", step.ops[0].x_slot});
    std::int64_t cols = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
      words.push_back({cat("y slot ", i), step.ops[i].y_slot});
      cols += shape_.block_columns(step.ops[i].block).size();
    }
    words.push_back({"block", block_in_right_side(step.ops[0].block)});
    for (std::size_t i = 0; i < step.ops.size(); i += blocks) add_tile(step.ops[i], cols);
    return words;
  }

  // Adds the word that tells which form it is, where there is more than one.
  template <class Form>
  static void add_form(Words& words, std::string name, Forms<Form>& forms, const Form& form) {
    const int number = forms.number(form);
    if (forms.all().size() > 1) words.push_back({std::move(name), number});
  }

  std::int64_t piece_rows(const TileAction& action) const {
    return shape_.piece(action.side, action.piece).size();
  }
  SideRows group_rows(int group) const {
    return {shape_.group_rows(Side::kForward, group).size(),
            shape_.group_rows(Side::kBackward, group).size()};
  }
  int block_in_right_side(int block) const {
    return static_cast<int>(shape_.block_columns(block).begin / shape_.block_cols);
  }
  int& received_slot(Side side, int hop, int piece) {
    const std::int64_t group = piece / (shape_.side_rows / shape_.piece_rows);
    return received_slot_[static_cast<std::size_t>(side)]
                         [static_cast<std::size_t>(hop * shape_.num_groups() + group)];
  }

  Words await_store(const TileAction& action) {
    const auto body = static_cast<std::size_t>(action.body);
    Words words = {{"slot", action.slot}};
    const std::vector<TileSize>& tiles = stored_[body][static_cast<std::size_t>(action.slot)];
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      add_form(words, cat("size ", i), forms_.tiles[body], tiles[i]);
    }
    return words;
  }

  Words send(const TileAction& action) {
    const auto side = static_cast<std::size_t>(action.side);
    const int number = static_cast<int>(sent_[side].size());
    sent_[side].push_back(piece_rows(action));
    received_slot(action.side, action.hop + 1, action.piece) = action.to_slot;
    const bool own = action.hop == 0;
    Words words = {{"piece", action.piece}};
    if (shape_.x_home == XHome::kHbm) {
      words.push_back({"hop", action.hop});
    } else {
      words.push_back({"slot", own ? schedule::kNone : action.slot});
      words.push_back({"to slot", action.to_slot});
    }
    words.push_back({"departure", number % shape_.departures});
    words.push_back({"arrival", static_cast<int>(shape_.arrival(action.side, action.hop + 1,
                                                                action.piece, action.to_slot))});
    add_form(words, "form", forms_.sends[side], SendForm{own, piece_rows(action)});
    return words;
  }

  Words load_x(const TileAction& action) {
    const SideRows rows = group_rows(action.group);
    loaded_x_[static_cast<std::size_t>(action.slot)] = rows;
    Words words = {{"slot", action.slot}, {"group", action.group}};
    if (shape_.x_home == XHome::kHbm) {  // the own group comes out of the input x
      words.push_back({"hop", action.hop == 0 ? schedule::kNone : action.hop});
    }
    if (shape_.num_k_blocks() > 1) words.push_back({"k block", action.k_block});
    add_form(words, "form", forms_.x_loads, LoadXForm{action.hop == 0, rows});
    return words;
  }

  Words load_y(const TileAction& action) {
    const std::int64_t cols = shape_.block_columns(action.block).size();
    loaded_y_[static_cast<std::size_t>(action.slot)] = cols;
    Words words = {{"slot", action.slot}, {"block", block_in_right_side(action.block)}};
    if (shape_.num_k_blocks() > 1) words.push_back({"k block", action.k_block});
    const int right_side = static_cast<int>(shape_.right_side_of(action.block));
    add_form(words, "form", forms_.y_loads, LoadYForm{right_side, cols});
    return words;
  }

  const TileShape& shape_;
  AllForms& forms_;
  std::array<std::vector<std::int64_t>, 2> sent_;  // rows of each send
  std::array<int, 2> awaited_ = {0, 0};            // departures
  std::array<std::vector<int>, 2> received_slot_;  // [hop][group]
  std::vector<SideRows> loaded_x_, stored_x_;      // the last into, out of each x slot
  std::vector<std::int64_t> loaded_y_;             // columns of the last into each y slot
  std::vector<std::vector<std::vector<TileSize>>>
      stored_;  // [body][slot]: what is stored out of it
};

const std::vector<TileAction>& actions_of(const TileStep& step, Section section) {
  switch (section) {
    case Section::kWaits:
      return step.waits;
    case Section::kStarts:
      return step.starts;
    case Section::kOperands:
      return step.operands;
    case Section::kAfter:
      return step.after;
  }
  return step.after;
}

// Calls for everything of a schedule that has words, in its order. `action` gets a lane whose place
// is not known yet.
template <class OnAction, class OnProduct>
void walk(const TileSchedule& schedule, AllForms& forms, OnAction on_action, OnProduct on_product) {
  Encoder encoder(schedule.shape, forms);
  const auto encode_all = [&](const std::vector<TileAction>& actions, Section section, int step) {
    std::map<std::pair<Kind, int>, int> numbers;
    for (const TileAction& action : actions) {
      if (action.kind == Kind::kStore) continue;
      Lane lane = {.section = section, .kind = action.kind, .variant = variant_of(action)};
      lane.number = numbers[{lane.kind, lane.variant}]++;
      on_action(step, lane, encoder.words(action));
    }
  };
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const TileStep& step = schedule.steps[i];
    for (const Section section : kSections) {
      const int number = static_cast<int>(i);
      if (section == Section::kAfter && step.body != schedule::kNone) {
        on_product(number, step, encoder.product(step));
      }
      encode_all(actions_of(step, section), section, number);
    }
  }
  encode_all(schedule.drain, Section::kWaits, schedule::kNone);
}

std::vector<std::string> names_of(const Words& words) {
  std::vector<std::string> names;
  for (const Word& word : words) names.push_back(word.name);
  return names;
}

using LaneKey = std::tuple<Section, Kind, int, int>;
LaneKey key_of(const Lane& lane) { return {lane.section, lane.kind, lane.variant, lane.number}; }

}  // namespace

Code encode(const TileSchedule& schedule) {
  Code code;
  // How many words an action has depends on how many forms there are: that must be known first.
  walk(
      schedule, code.forms, [](int, const Lane&, const Words&) {},
      [](int, const TileStep&, const Words&) {});

  std::map<LaneKey, Lane> lanes;
  code.product_words.resize(schedule.shape.bodies.size());
  walk(
      schedule, code.forms,
      [&](int step, Lane lane, const Words& words) {
        // Arrivals are awaited in two places.
        const bool again = lane.section == Section::kOperands && lane.kind == Kind::kAwaitArrival;
        lane.name =
            cat(lane_name(lane.kind, lane.variant), again ? " as operand " : " ", lane.number);
        lane.words = names_of(words);
        if (step == schedule::kNone) {
          code.drain.emplace_back(std::move(lane), words);
        } else {
          lanes.try_emplace(key_of(lane), std::move(lane));
        }
      },
      [&](int, const TileStep& step, const Words& words) {
        code.product_words[static_cast<std::size_t>(step.body)] = names_of(words);
      });

  const auto place_product = [&] {
    code.product_at = code.width;
    std::size_t most = 0;
    for (const auto& words : code.product_words) most = std::max(most, words.size());
    code.width += 1 + static_cast<int>(most);
  };
  bool placed = false;
  for (auto& [key, lane] : lanes) {
    if (lane.section == Section::kAfter && !std::exchange(placed, true)) place_product();
    lane.at = code.width;
    code.width += static_cast<int>(lane.words.size());
    code.lanes.push_back(lane);
  }
  if (!placed) place_product();

  code.table.assign(schedule.steps.size() * static_cast<std::size_t>(code.width), schedule::kNone);
  const auto write = [&](int step, int at, const Words& words) {
    auto* const row = &code.table[static_cast<std::size_t>(step * code.width + at)];
    for (std::size_t i = 0; i < words.size(); ++i) row[i] = words[i].value;
  };
  walk(
      schedule, code.forms,
      [&](int step, const Lane& lane, const Words& words) {
        if (step != schedule::kNone) write(step, lanes.at(key_of(lane)).at, words);
      },
      [&](int step, const TileStep& tile_step, Words words) {
        words.insert(words.begin(), {"body", tile_step.body});
        write(step, code.product_at, words);
      });
  return code;
}

}  // namespace cmm::tpu::wavefront
