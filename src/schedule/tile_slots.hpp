// Who uses a slot when: the part of the proof of a tile schedule that is about memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace cmm::schedule {

// A slot has tenants, one after another: a copy into it begins the tenancy, what reads it last ends
// it. Positions count the actions and products of a program.
class TileSlots {
 public:
  TileSlots(const char* name, int num_slots) : name_(name), slots_(num_slots) {}

  int add(int slot, std::string what, std::int64_t now) {
    tenancies_.push_back({std::move(what), now, now});
    slots_[slot].push_back(static_cast<int>(tenancies_.size()) - 1);
    return slots_[slot].back();
  }
  void may_begin(int tenancy, std::int64_t position) {
    tenancies_[tenancy].begin = std::min(tenancies_[tenancy].begin, position);
  }
  void is_used(int tenancy, std::int64_t now) { tenancies_[tenancy].end = now; }

  // Two tenancies of one slot that may overlap, in words, or nothing.
  std::string overlap() const {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      std::vector<Tenancy> tenants;
      for (const int tenancy : slots_[slot]) tenants.push_back(tenancies_[tenancy]);
      std::ranges::stable_sort(tenants, {}, &Tenancy::begin);
      for (std::size_t i = 1; i < tenants.size(); ++i) {
        if (tenants[i - 1].end >= tenants[i].begin)
          return cat(name_, " slot ", slot, ": ", tenants[i].what, " may come while ",
                     tenants[i - 1].what, " is still in use");
      }
    }
    return {};
  }

 private:
  struct Tenancy {
    std::string what;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  const char* name_;
  std::vector<Tenancy> tenancies_;
  std::vector<std::vector<int>> slots_;  // tenancies of each, in order of their copies
};

}  // namespace cmm::schedule
