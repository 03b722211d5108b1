// A tile schedule in words: what the rows of the kernel's table say, and where.
//
// A *lane* is the place of one action in a row: the words that an action of its kind needs, the
// first of which is -1 where the step has no such action. A row has as many lanes of a kind as the
// step with most of them, in the order in which a step does them:
//
//   | waits ... | starts ... | operands ... | product: body, words of that body | after ... |
//
// Further words that the step does not read are -1, too.
//
// Sizes of copies are static in a kernel. Where rows or columns are ragged it has a *form* of the
// copy for each size that occurs, and a word tells which; where only one occurs there is no such
// word.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/tiles.hpp"

namespace cmm::tpu::wavefront {

using Kind = schedule::TileAction::Kind;

template <class Form>
class Forms {
 public:
  int number(const Form& form) {  // its number; a new form gets the next
    const auto found = std::find(all_.begin(), all_.end(), form);
    if (found != all_.end()) return static_cast<int>(found - all_.begin());
    all_.push_back(form);
    return static_cast<int>(all_.size()) - 1;
  }
  const std::vector<Form>& all() const { return all_; }

 private:
  std::vector<Form> all_;
};

using SideRows = std::array<std::int64_t, 2>;  // by Side

struct SendForm {
  bool own = false;  // out of the input x
  std::int64_t rows = 0;
  friend bool operator==(const SendForm&, const SendForm&) = default;
};
struct LoadXForm {
  bool own = false;
  SideRows rows = {};
  friend bool operator==(const LoadXForm&, const LoadXForm&) = default;
};
struct LoadYForm {
  int right_side = 0;
  std::int64_t cols = 0;
  friend bool operator==(const LoadYForm&, const LoadYForm&) = default;
};
struct TileSize {  // of what one group makes in one step
  SideRows rows = {};
  std::int64_t cols = 0;
  friend bool operator==(const TileSize&, const TileSize&) = default;
};
struct StoreForm {
  int right_side = 0;
  TileSize size;
  friend bool operator==(const StoreForm&, const StoreForm&) = default;
};

// All that occur in a schedule.
struct AllForms {
  std::array<Forms<SendForm>, 2> sends;       // by Side
  std::array<Forms<std::int64_t>, 2> pieces;  // rows, of departures and arrivals
  Forms<LoadXForm> x_loads;
  Forms<SideRows> groups;  // of loads awaited, stores of x
  Forms<LoadYForm> y_loads;
  Forms<std::int64_t> blocks;            // columns, of loads awaited
  std::vector<Forms<StoreForm>> stores;  // by body
  std::vector<Forms<TileSize>> tiles;    // by body, of stores awaited
};

struct Word {
  std::string name;
  int value = 0;
};
using Words = std::vector<Word>;

enum class Section { kWaits, kStarts, kOperands, kAfter };
inline constexpr Section kSections[] = {Section::kWaits, Section::kStarts, Section::kOperands,
                                        Section::kAfter};

struct Lane {
  Section section = Section::kWaits;
  Kind kind = Kind::kAwaitEntry;
  int variant = 0;  // Side, or body of a kAwaitStore
  int number = 0;   // among those of its section, kind and variant
  std::string name = {};
  int at = 0;
  std::vector<std::string> words = {};
};

struct Code {
  AllForms forms;
  std::vector<Lane> lanes;  // in the order of a row
  int product_at = 0;       // of the body's number, -1 where a step multiplies nothing ...
  // ... and behind it the words of that body; the bodies share their place. Empty: never used.
  std::vector<std::vector<std::string>> product_words;
  int width = 0;  // words of a row
  std::vector<std::int32_t> table;
  std::vector<std::pair<Lane, Words>> drain;
};

bool has_side(Kind kind);
std::string lane_name(Kind kind, int variant);  // "send forward", "await store of body 1"
std::string meaning(Kind kind);                 // "a piece goes on to the neighbour"

// The schedule passes verify().
Code encode(const schedule::TileSchedule& schedule);

}  // namespace cmm::tpu::wavefront
