#include <charconv>
#include <functional>
#include <map>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_plan.hpp"

namespace cmm::sim {
namespace {

using schedule::TileBody;
using schedule::XHome;

[[noreturn]] void refuse(std::string_view word) {
  throw Error(ErrorCode::kInvalidArgument,
              cat("tile parameters: cannot read '", word, "'; they look like \"",
                  to_text({.bodies = {{}, {.blocks = 4, .free = true}}}), "\""));
}

template <class Number>
void read_number(std::string_view text, Number& to) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, to);
  if (error != std::errc() || stop != end || to < 0) refuse(text);
}

std::string body_text(const TileBody& body) {
  return body.free ? cat(body.blocks, "f/", body.out_slots)
                   : cat(body.groups, "x", body.blocks, "/", body.out_slots);
}

TileBody parse_body(std::string_view text) {
  TileBody body;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) refuse(text);
  read_number(text.substr(slash + 1), body.out_slots);
  std::string_view size = text.substr(0, slash);
  const std::size_t cross = size.find('x');
  if (cross != std::string_view::npos) {
    read_number(size.substr(0, cross), body.groups);
    read_number(size.substr(cross + 1), body.blocks);
  } else {
    if (!size.ends_with('f')) refuse(text);
    body.free = true;
    read_number(size.substr(0, size.size() - 1), body.blocks);
  }
  return body;
}

// Calls `with` on each part of the text between separators.
void split(std::string_view text, char separator,
           const std::function<void(std::string_view)>& with) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) with(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string to_text(const TileParameters& p) {
  return cat("side_rows=", p.side_rows, " piece_rows=", p.piece_rows, " block_cols=", p.block_cols,
             " block_k=", p.block_k, " bodies=", joined(p.bodies, ",", body_text),
             " order=", p.order == TileOrder::kXMajor ? "x" : "y",
             " x_home=", p.x_home == XHome::kVmem ? "vmem" : "hbm", " x_bytes=", p.x_bytes,
             " passes=", p.passes, " sends=", p.sends_per_step, " loads=", p.loads_per_step,
             " y_parts=", p.y_parts, " y_ahead=", p.y_ahead, " send_ahead=", p.send_ahead,
             " margin_bytes=", p.margin_bytes);
}

TileParameters parse_tile_parameters(std::string_view text) {
  TileParameters p;
  using Reader = std::function<void(std::string_view)>;
  const auto number = [](auto& to) {
    return Reader([&to](std::string_view value) { read_number(value, to); });
  };
  const std::map<std::string_view, Reader> readers = {
      {"side_rows", number(p.side_rows)},
      {"piece_rows", number(p.piece_rows)},
      {"block_cols", number(p.block_cols)},
      {"block_k", number(p.block_k)},
      {"bodies",
       [&p](std::string_view value) {
         split(value, ',', [&p](std::string_view body) { p.bodies.push_back(parse_body(body)); });
       }},
      {"order",
       [&p](std::string_view value) {
         if (value != "x" && value != "y") refuse(value);
         p.order = value == "x" ? TileOrder::kXMajor : TileOrder::kYMajor;
       }},
      {"x_home",
       [&p](std::string_view value) {
         if (value != "vmem" && value != "hbm") refuse(value);
         p.x_home = value == "vmem" ? XHome::kVmem : XHome::kHbm;
       }},
      {"x_bytes", number(p.x_bytes)},
      {"passes", number(p.passes)},
      {"sends", number(p.sends_per_step)},
      {"loads", number(p.loads_per_step)},
      {"y_parts", number(p.y_parts)},
      {"y_ahead", number(p.y_ahead)},
      {"send_ahead", number(p.send_ahead)},
      {"margin_bytes", number(p.margin_bytes)},
  };
  split(text, ' ', [&readers](std::string_view word) {
    const std::size_t equals = word.find('=');
    const auto reader = readers.find(word.substr(0, equals));
    if (equals == std::string_view::npos || reader == readers.end()) refuse(word);
    reader->second(word.substr(equals + 1));
  });
  if (p.bodies.empty()) refuse(text);
  return p;
}

}  // namespace cmm::sim
