// Annealing over the parameters, from a plan that is known.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "base/integers.hpp"
#include "sim/tile_plan.hpp"
#include "sim/tile_recipe.hpp"

namespace cmm::sim {
namespace {

using schedule::TileBody;
using schedule::XHome;

constexpr std::size_t kMaxBodies = 4;
// A step that costs so large a share of the time is accepted with probability 1 / e at the start;
// at the end of the search only what is better.
constexpr double kFirstTemperature = 0.006;
constexpr double kCoolAfter = 0.7;  // of a run's candidates
constexpr int kNumRuns = 4;

class Search {
 public:
  Search(const TileProblem& problem, TilePlan start, const SearchOptions& options, int num_plans)
      : problem_(problem),
        options_(options),
        num_plans_(static_cast<std::size_t>(num_plans)),
        random_(options.seed) {
    best_.push_back(std::move(start));
  }

  // The first run starts from what is known, the others anywhere. The best comes first.
  std::vector<TilePlan> run() {
    const int each = std::max(options_.num_candidates / kNumRuns, 1);
    for (int tried = 0; tried < options_.num_candidates; tried += each) {
      const TileParameters& best = best_.front().parameters;
      TileParameters start = best;
      if (tried > 0) {
        start = parameters_of(problem_, {.memory = {best.x_home, best.x_bytes, best.passes},
                                         .side_rows = one_of<std::int64_t>({64, 64, 128}),
                                         .pieces = one_of<std::int64_t>({1, 2, 4}),
                                         .mxu_tiles = one_of<std::int64_t>({1, 1, 2}),
                                         .bodies = below(8)});
      }
      anneal(start, std::min(each, options_.num_candidates - tried));
    }
    return std::move(best_);
  }

 private:
  void anneal(TileParameters current, int num_candidates) {
    double seconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < num_candidates; ++i) {
      TileParameters tried = current;
      if (i > 0) {
        for (std::size_t changes = 1 + below(3); changes > 0; --changes) change(tried);
      }
      ListScheduled scheduled = list_schedule(problem_, tried);
      if (!scheduled.plan) continue;
      const double here = scheduled.plan->times.seconds;
      const double temperature = kFirstTemperature * here * (1 - i / (kCoolAfter * num_candidates));
      const bool accepted =
          here <= seconds || (temperature > 0 && std::exp((seconds - here) / temperature) > unit());
      keep(*std::move(scheduled.plan));
      if (!accepted) continue;
      current = tried;
      seconds = here;
    }
  }

  // The bodies that some step has.
  static std::vector<TileBody> bodies_in_use(const TilePlan& plan) {
    const std::vector<TileBody>& all = plan.schedule.shape.bodies;
    std::vector<char> used(all.size());
    for (const schedule::TileStep& step : plan.schedule.steps) {
      if (step.body != schedule::kNone) used[step.body] = 1;
    }
    std::vector<TileBody> bodies;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (used[i] != 0) bodies.push_back(all[i]);
    }
    return bodies;
  }
  static bool same_products(const TilePlan& a, const TilePlan& b) {
    const auto same_body = [](const TileBody& one, const TileBody& other) {
      return one.groups == other.groups && one.blocks == other.blocks && one.free == other.free;
    };
    const TileParameters &p = a.parameters, &q = b.parameters;
    return p.side_rows == q.side_rows && p.block_cols == q.block_cols && p.block_k == q.block_k &&
           std::ranges::equal(bodies_in_use(a), bodies_in_use(b), same_body);
  }

  // Of those with the same products the fastest, and of those the `num_plans_` fastest.
  void keep(TilePlan plan) {
    const double seconds = plan.times.seconds;
    const auto is_slower = [seconds](const TilePlan& other) {
      return other.times.seconds > seconds;
    };
    if (best_.size() == num_plans_ && !is_slower(best_.back())) return;
    auto like = std::ranges::find_if(
        best_, [&plan](const TilePlan& other) { return same_products(other, plan); });
    if (like != best_.end() && !is_slower(*like)) return;
    if (like == best_.end() && best_.size() == num_plans_) like = best_.end() - 1;
    if (like != best_.end()) best_.erase(like);
    best_.insert(std::ranges::find_if(best_, is_slower), std::move(plan));
  }

  // The standard library's distributions differ between implementations, the engine does not.
  std::size_t below(std::size_t end) { return random_() % end; }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return *(values.begin() + below(values.size()));
  }

  TileBody random_body() {
    if (below(3) == 0) return {.blocks = 2 + static_cast<int>(below(7)), .free = true};
    return {.groups = one_of({1, 1, 2, 2, 4, 4, 8}), .blocks = 1 + static_cast<int>(below(10))};
  }
  void change_bodies(std::vector<TileBody>& bodies) {
    const std::size_t which = below(bodies.size());
    switch (below(4)) {
      case 0:
        if (bodies.size() < kMaxBodies) bodies.push_back(random_body());
        return;
      case 1:
        if (bodies.size() > 1) bodies.erase(bodies.begin() + static_cast<std::ptrdiff_t>(which));
        return;
      case 2:
        bodies[which].out_slots = 1 + static_cast<int>(below(4));
        return;
      default:
        bodies[which] = random_body();
        return;
    }
  }
  // An even share of a half, so that all groups are alike, in so many pieces.
  void change_rows(TileParameters& p) {
    const std::int64_t half = problem_.shape.half_rows(schedule::Side::kForward);
    const std::int64_t groups =
        ceil_div(half, one_of<std::int64_t>({16, 32, 64, 64, 128, 128, 256}));
    const std::int64_t pieces = one_of<std::int64_t>({1, 1, 2, 2, 3, 4, 8});
    p.side_rows = round_up(ceil_div(half, groups), problem_.shape.row_tile * pieces);
    p.piece_rows = p.side_rows / pieces;
  }
  void change(TileParameters& p) {
    switch (below(13)) {
      case 0:
      case 1:
        change_rows(p);
        return;
      case 2:
        p.block_cols = problem_.machine.chip.mxu_tile * one_of<std::int64_t>({1, 1, 2, 2, 3, 4});
        return;
      case 3:
      case 4:
      case 5:
        change_bodies(p.bodies);
        return;
      case 6:
        p.order = one_of({TileOrder::kXMajor, TileOrder::kYMajor});
        return;
      case 7:
        p.sends_per_step = one_of({1, 1, 2, 3, 4});
        return;
      case 8:
        p.loads_per_step = one_of({1, 2, 2, 3, 4});
        return;
      case 9:
        p.y_ahead = one_of({0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0});
        return;
      case 10:
        p.send_ahead = one_of({0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0});
        return;
      case 11:
        change_memory(p);
        return;
      default:
        p.y_parts = one_of({1, 1, 1, 2, 4});
        return;
    }
  }
  void change_memory(TileParameters& p) {
    if (below(8) == 0) p.x_home = one_of({XHome::kVmem, XHome::kHbm});
    const std::int64_t vmem = problem_.machine.chip.vmem_bytes - p.margin_bytes;
    if (below(2) == 0) {
      p.x_bytes = below(3) == 0 ? 0 : vmem / 100 * (10 + 5 * static_cast<std::int64_t>(below(14)));
    } else if (p.passes > 1 || below(4) == 0) {
      p.passes = std::max(1, p.passes + one_of({-1, 1, 2}));
    }
  }

  const TileProblem& problem_;
  const SearchOptions& options_;
  const std::size_t num_plans_;
  std::mt19937_64 random_;
  std::vector<TilePlan> best_;
};

}  // namespace

TilePlan search_tiles(const TileProblem& problem, TilePlan start, const SearchOptions& options) {
  return std::move(search_best_tiles(problem, std::move(start), options, 1).front());
}

std::vector<TilePlan> search_best_tiles(const TileProblem& problem, TilePlan start,
                                        const SearchOptions& options, int num_plans) {
  return Search(problem, std::move(start), options, num_plans).run();
}

}  // namespace cmm::sim
