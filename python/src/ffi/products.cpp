#include "products.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "cmm/error.hpp"

namespace cmm::python::ffi {
namespace {

// Each plan keeps its threads and workspace.
constexpr std::size_t kMaxPlans = 32;

constexpr std::size_t kMaxSides = 64;  // of one plan

// What a core does in a second, roughly; waking a thread for less than kWorthWaking of work costs
// more than it gives.
constexpr double kFlopsPerSecond = 5e10;
constexpr double kBytesPerSecond = 1e10;
constexpr double kWorthWakingSeconds = 50e-6;

int num_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(CPU_COUNT(&allowed), 1);
}

// CMM_JAX_THREADS, if it is a positive number, else the cores this process may use.
int max_threads() {
  static const int threads = [] {
    const char* const text = std::getenv("CMM_JAX_THREADS");
    int value = 0;
    if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
    return value > 0 ? value : num_cores();
  }();
  return threads;
}

int threads_for(const ProblemShape& shape) {
  double columns = 0;
  for (const std::int64_t n : shape.n_local) columns += static_cast<double>(n);
  const double weights = columns * static_cast<double>(shape.k);
  const double seconds =
      std::max(2.0 * weights * static_cast<double>(shape.m) / kFlopsPerSecond,
               weights * static_cast<double>(dtype_bytes(shape.dtype)) / kBytesPerSecond);
  return static_cast<int>(
      std::clamp(seconds / kWorthWakingSeconds, 1.0, static_cast<double>(max_threads())));
}

bool same_but_m(const ProblemShape& a, const ProblemShape& b) {
  return a.k == b.k && a.n_local == b.n_local && a.dtype == b.dtype && a.out_dtype == b.out_dtype;
}

bool same(const Options& a, const Options& b) {
  return a.threads == b.threads && a.activations == b.activations && a.swiglu == b.swiglu;
}

StridedMatrixRef right_side(const CallShape& shape, std::size_t side, bool transposed,
                            const void* data) {
  const std::int64_t n = shape.n_local[side];
  const StridedMatrixRef y = transposed
                                 ? StridedMatrixRef(data, shape.dtype, n, shape.k, shape.k, 1)
                                 : StridedMatrixRef(data, shape.dtype, shape.k, n, n, 1);
  return y;
}

}  // namespace

Products& Products::instance() {
  static Products& products = *new Products;  // never destroyed: calls may run at exit
  return products;
}

void Products::run(const Site& site, const Meeting& meeting) {
  const SiteOptions& options = site.options();
  {
    std::unique_lock lock(mutex_);
    if (!idle_.wait_for(lock, options.deadline, [this] { return !busy_; })) {
      throw Error(ErrorCode::kDeadline, "other calls of this process have kept the cores for " +
                                            std::to_string(options.deadline.count()) + " ms");
    }
    busy_ = true;
  }
  struct Release {
    Products* products;
    ~Release() {
      const std::lock_guard lock(products->mutex_);
      products->busy_ = false;
      products->idle_.notify_one();
    }
  } const release{this};
  const std::size_t num_sides = site.shape().n_local.size();
  const std::size_t at_once = options.swiglu ? 1 : std::max<std::size_t>(kMaxSides / num_sides, 1);
  const void* const x = options.num_ranks > 1 ? static_cast<const void*>(meeting.gathered.get())
                                              : meeting.arrivals[0].operands.x;
  std::vector<const Operands*> devices;
  for (const Arrival& arrival : meeting.arrivals) {
    devices.push_back(&arrival.operands);
    if (devices.size() < at_once && &arrival != &meeting.arrivals.back()) continue;
    multiply(options, site.shape(), x, devices);
    devices.clear();
  }
}

void Products::multiply(const SiteOptions& site, const CallShape& shape, const void* x,
                        const std::vector<const Operands*>& devices) {
  ProblemShape problem{.m = shape.m_local * site.num_ranks,
                       .k = shape.k,
                       .n_local = {},
                       .dtype = shape.dtype,
                       .out_dtype = shape.out_dtype};
  Options options{.activations = {}, .swiglu = site.swiglu};
  std::vector<Weights> y;
  std::vector<MatrixRef> out;
  for (const Operands* const device : devices) {
    for (std::size_t side = 0; side < shape.n_local.size(); ++side) {
      problem.n_local.push_back(shape.n_local[side]);
      if (!site.activations.empty()) options.activations.push_back(site.activations[side]);
      y.push_back(Weights::view(right_side(shape, side, site.transposed, device->y[side]),
                                {.transposed = site.transposed}));
    }
    for (std::size_t i = 0; i < device->out.size(); ++i) {
      const std::int64_t n = shape.n_local[i];
      out.push_back({device->out[i], shape.out_dtype, problem.m, n, n});
    }
  }
  options.threads = threads_for(problem);
  try {
    all_gather_matmul(plan_for(problem, options), {x, shape.dtype, problem.m, shape.k, shape.k}, y,
                      out);
  } catch (...) {
    plans_.clear();  // a failed call ends its axis
    axis_.reset();
    throw;
  }
}

const Plan& Products::plan_for(const ProblemShape& shape, const Options& options) {
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const Kept& kept) {
    return same_but_m(kept.shape, shape) && same(kept.options, options);
  });
  if (found != plans_.end() && found->shape.m >= shape.m) {
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front().plan;
  }
  if (found != plans_.end()) {
    plans_.erase(found);
  } else if (plans_.size() == kMaxPlans) {
    plans_.pop_back();
  }
  if (!axis_) axis_ = Mesh::threads({{"devices", 1}}).front().axis("devices");
  plans_.insert(plans_.begin(), {shape, options, Plan::make(*axis_, shape, options)});
  return plans_.front().plan;
}

}  // namespace cmm::python::ffi
