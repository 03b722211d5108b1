#include "site.hpp"

#include <atomic>
#include <string>
#include <string_view>

#include "cmm/error.hpp"

namespace cmm::python::ffi {
namespace {

std::atomic<std::int64_t> num_made{0};
std::atomic<int> num_alive_sites{0};

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::vector<Activation> activations_of(std::string_view names) {
  std::vector<Activation> activations;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    activations.push_back(parse_activation(names.substr(0, comma)));
    names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
  }
  return activations;
}

DType dtype_of(const xla::Buffer& buffer) {
  switch (buffer.dtype) {
    case xla::DataType::kF32:
      return DType::kF32;
    case xla::DataType::kBF16:
      return DType::kBF16;
    case xla::DataType::kF16:
      return DType::kF16;
    default:
      reject("an operand has element type " + std::to_string(static_cast<int>(buffer.dtype)) +
             " of XLA; the CPU engine has f32, bf16 and f16");
  }
}

struct Extents {
  std::int64_t rows;
  std::int64_t cols;
  friend bool operator==(Extents, Extents) = default;
};

std::string text(const Extents& extents) {
  std::string text = "[";  // GCC 12 warns of "[" + std::string()
  text += std::to_string(extents.rows) + ", " + std::to_string(extents.cols) + "]";
  return text;
}

Extents extents_of(const xla::Buffer& buffer) {
  if (buffer.rank != 2) reject("an operand has " + std::to_string(buffer.rank) + " dimensions");
  return {buffer.dims[0], buffer.dims[1]};
}

void check(const char* name, const xla::Buffer& buffer, DType dtype, const Extents& expected) {
  if (extents_of(buffer) == expected && dtype_of(buffer) == dtype) return;
  reject(std::string(name) + " is " + text(extents_of(buffer)) + " " +
         std::string(dtype_name(dtype_of(buffer))) + "; the call needs " + text(expected) + " " +
         std::string(dtype_name(dtype)));
}

}  // namespace

xla::StateType Site::type() {
  static xla::TypeId id{0};
  static const xla::TypeInfo info = {{sizeof(xla::TypeInfo), nullptr},
                                     [](void* site) { delete static_cast<Site*>(site); }};
  return {"collective_matmul_call_site", &id, &info};
}

int Site::num_alive() { return num_alive_sites.load(std::memory_order_relaxed); }

Site::Site(const xla::CallFrame& instantiation)
    : id_(num_made.fetch_add(1, std::memory_order_relaxed)) {
  const auto integer = [&](const char* name) {
    return xla::integer_attribute(instantiation, name);
  };
  options_ = {.num_ranks = static_cast<int>(integer("num_ranks")),
              .num_groups = static_cast<int>(integer("num_groups")),
              .transposed = integer("rhs_transpose") != 0,
              .swiglu = integer("swiglu") != 0,
              .activations = activations_of(xla::string_attribute(instantiation, "activations")),
              .deadline = std::chrono::milliseconds(integer("deadline_ms"))};
  gathered_ = integer("return_gathered") != 0;
  if (options_.num_ranks < 1 || options_.num_groups < 1 || options_.deadline.count() < 1) {
    reject("num_ranks=" + std::to_string(options_.num_ranks) +
           ", num_groups=" + std::to_string(options_.num_groups) +
           ", deadline_ms=" + std::to_string(options_.deadline.count()) + ": all must be positive");
  }
  counters_.resize(static_cast<std::size_t>(options_.num_ranks) *
                   static_cast<std::size_t>(options_.num_groups));
  num_alive_sites.fetch_add(1, std::memory_order_relaxed);
}

Site::~Site() { num_alive_sites.fetch_sub(1, std::memory_order_relaxed); }

void Site::read_shape(const xla::CallFrame& frame) {
  const std::int64_t num_sides = frame.arguments.size - 2;  // x, right sides, where
  num_outs_ = options_.swiglu ? 1 : num_sides;
  if (num_sides < 1 || frame.results.size != num_outs_ + (gathered_ ? 1 : 0)) {
    reject("the call has " + std::to_string(frame.arguments.size) + " operands and " +
           std::to_string(frame.results.size) + " results, which do not fit each other");
  }
  const xla::Buffer& x = xla::buffer(frame.arguments, 0);
  const auto [m_local, k] = extents_of(x);
  CallShape shape{.dtype = dtype_of(x),
                  .out_dtype = dtype_of(xla::buffer(frame.results, 0)),
                  .m_local = m_local,
                  .k = k};
  const std::int64_t m = m_local * options_.num_ranks;
  for (std::int64_t side = 0; side < num_sides; ++side) {
    const xla::Buffer& y = xla::buffer(frame.arguments, 1 + side);
    const std::int64_t n = options_.transposed ? extents_of(y).rows : extents_of(y).cols;
    check("a right side", y, shape.dtype, options_.transposed ? Extents{n, k} : Extents{k, n});
    if (side < num_outs_) {
      check("a result", xla::buffer(frame.results, side), shape.out_dtype, {m, n});
    }
    shape.n_local.push_back(n);
  }
  if (gathered_) {
    check("the gathered x", xla::buffer(frame.results, num_outs_), shape.dtype, {m, k});
  }
  shape_ = std::move(shape);
}

Operands Site::operands(const xla::CallFrame& frame) {
  std::call_once(shape_once_, [&] { read_shape(frame); });
  Operands operands{.x = xla::buffer(frame.arguments, 0).data};
  for (std::int64_t side = 0; side + 2 < frame.arguments.size; ++side) {
    operands.y.push_back(xla::buffer(frame.arguments, 1 + side).data);
  }
  for (std::int64_t i = 0; i < num_outs_; ++i) {
    operands.out.push_back(xla::buffer(frame.results, i).data);
  }
  if (gathered_) operands.gathered = xla::buffer(frame.results, num_outs_).data;
  return operands;
}

Place Site::place(const xla::CallFrame& frame) const {
  const xla::Buffer& where = xla::buffer(frame.arguments, frame.arguments.size - 1);
  if (where.dtype != xla::DataType::kS32 || where.rank != 1 || where.dims[0] != 2) {
    reject("the last operand must be int32[2]: rank and group");
  }
  const auto* const values = static_cast<const std::int32_t*>(where.data);
  const Place place{values[0], values[1]};
  if (place.rank < 0 || place.rank >= options_.num_ranks || place.group < 0 ||
      place.group >= options_.num_groups) {
    reject("a device says that it is rank " + std::to_string(place.rank) + " of group " +
           std::to_string(place.group) + "; there are " + std::to_string(options_.num_ranks) +
           " ranks and " + std::to_string(options_.num_groups) + " groups");
  }
  return place;
}

Site::Counter& Site::counter(const Place& place) {
  return counters_[static_cast<std::size_t>(place.group * options_.num_ranks + place.rank)];
}

}  // namespace cmm::python::ffi
