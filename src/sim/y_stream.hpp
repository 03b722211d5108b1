// Blocks of y on their way into VMEM: the part of the list scheduler that loads them.
#pragma once

#include <vector>

#include "sim/list_context.hpp"
#include "sim/tile_choice.hpp"

namespace cmm::sim {

// A load is one block in one pass; they are loaded in order, each once.
class YStream {
 public:
  YStream(ListContext& context, const TileChoice& choice);

  void look_around();
  // And will be used again.
  TileChoice::Blocks there() const { return {is_there_, {first_used_, next_}}; }
  double bytes_in_flight() const;
  double next_bytes() const;  // to go until the next copy ends

  bool can_load() const { return next_ < std::ssize(loads_) && !free_slots_.empty(); }
  double load();  // its bytes

  int slot_of(int load) const { return loads_[load].slot; }
  void await(int load);    // before the product, where it has not been awaited
  bool await_new();        // one that is there and has not been awaited, if any
  void is_used(int load);  // by one product

 private:
  ListContext& context_;
  std::vector<SlotLoad> loads_;
  std::vector<char> is_there_;
  std::vector<int> uses_left_;
  std::vector<int> in_flight_;
  std::vector<int> free_slots_;
  int first_used_ = 0;  // of those before it nothing is left to use
  int next_ = 0;
};

}  // namespace cmm::sim
