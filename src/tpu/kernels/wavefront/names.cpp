#include <string_view>

#include "base/text.hpp"
#include "tpu/kernels/wavefront/code.hpp"

namespace cmm::tpu::wavefront {
namespace {

struct KindText {
  Kind kind;
  std::string_view name;
  std::string_view meaning;
};
constexpr KindText kKinds[] = {
    {Kind::kAwaitEntry, "await entry", "both neighbours have entered the kernel"},
    {Kind::kAwaitDeparture, "await departure", "the oldest piece sent has left"},
    {Kind::kAwaitArrival, "await arrival", "a piece has come from the neighbour"},
    {Kind::kAwaitX, "await x", "a group of x has been loaded"},
    {Kind::kAwaitY, "await y", "a block of y has been loaded"},
    {Kind::kAwaitStore, "await store", "an out slot has been stored and is free"},
    {Kind::kAwaitStoreX, "await store x", "a group has been stored to the gathered x"},
    {Kind::kAwaitCredit, "await credit", "the receiver has freed an x slot"},
    {Kind::kSend, "send", "a piece goes on to the neighbour"},
    {Kind::kLoadX, "load x", "a group of x goes into a slot"},
    {Kind::kLoadY, "load y", "a block of y goes into a slot"},
    {Kind::kStore, "store", "what has been multiplied goes to out"},
    {Kind::kStoreX, "store x", "a group goes to the gathered x"},
    {Kind::kGrant, "grant", "the neighbour may fill another x slot"},
};

const KindText& text_of(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    if (kKinds[i].kind != static_cast<Kind>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

bool has_side(Kind kind) {
  return kind == Kind::kAwaitDeparture || kind == Kind::kAwaitArrival ||
         kind == Kind::kAwaitCredit || kind == Kind::kSend || kind == Kind::kGrant;
}

std::string lane_name(Kind kind, int variant) {
  const std::string_view name = text_of(kind).name;
  if (kind == Kind::kAwaitStore) return cat(name, " of body ", variant);
  if (!has_side(kind)) return std::string(name);
  const bool forward = variant == static_cast<int>(schedule::Side::kForward);
  return cat(name, forward ? " forward" : " backward");
}

std::string meaning(Kind kind) { return std::string(text_of(kind).meaning); }

}  // namespace cmm::tpu::wavefront
