// The product of a call, for all its devices at once.
//
// All devices share the cores, so one team of threads multiplies for all: x is packed once, not
// once per device, and no two devices run against each other. To the engine, the call is that of
// one rank that has the gathered x and the right sides of all devices.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cmm/all_gather_matmul.hpp"
#include "cmm/mesh.hpp"
#include "meetings.hpp"
#include "site.hpp"

namespace cmm::python::ffi {

class Products {
 public:
  static Products& instance();

  // out_r = epilogue(x * y_r) for every rank r of the meeting, all of whose ranks have come. One
  // call at a time; others wait, at most until the deadline of the site has passed once more.
  // Throws Error as Plan::make and all_gather_matmul do, kDeadline.
  void run(const Site& site, const Meeting& meeting);

 private:
  struct Kept {
    ProblemShape shape;  // m: what the plan serves at most
    Options options;
    Plan plan;
  };
  const Plan& plan_for(const ProblemShape& shape, const Options& options);
  void multiply(const SiteOptions& site, const CallShape& shape, const void* x,
                const std::vector<const Operands*>& devices);

  std::mutex mutex_;  // of busy_; what follows belongs to the call that has set it
  std::condition_variable idle_;
  bool busy_ = false;
  std::optional<Axis> axis_;  // of one rank
  std::vector<Kept> plans_;   // the last used first
};

}  // namespace cmm::python::ffi
