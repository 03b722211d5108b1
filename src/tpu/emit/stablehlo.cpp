#include "tpu/emit/stablehlo.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "tpu/emit/mosaic.hpp"
#include "tpu/emit/types.hpp"

namespace cmm::tpu::emit {
namespace {

using Shape = std::vector<std::int64_t>;
constexpr int kNoDimension = -1;
constexpr std::int64_t kRowsOfTile = 8;

struct Tensor {
  std::string name;  // "%3"
  Shape shape;
  Element element = Element::kF32;
  std::string type() const { return tensor_text(shape, element_text(element)); }
};

// A matrix of all devices; `split` is the dimension that the ring's devices share.
struct Whole {
  Shape shape;
  Element element = Element::kF32;
  int split = kNoDimension;
};

std::string types_text(const std::vector<Tensor>& tensors) {
  return joined(tensors, ", ", &Tensor::type);
}
std::string names_text(const std::vector<Tensor>& tensors) {
  return joined(tensors, ", ", &Tensor::name);
}
// "a" or "(a, b)"
std::string result_types_text(const std::vector<Tensor>& tensors) {
  return tensors.size() == 1 ? types_text(tensors) : cat("(", types_text(tensors), ")");
}
// "[2, 3]"
std::string list_text(const Shape& values) { return cat("[", joined(values, ", "), "]"); }
// Minor to major: rows are contiguous.
std::string layouts_text(const std::vector<Tensor>& tensors) {
  return joined(tensors, ", ", [](const Tensor& tensor) {
    Shape order;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) order.push_back(static_cast<int>(i));
    return cat("dense<", list_text(order), "> : tensor<", order.size(), "xindex>");
  });
}

// One operation a line.
class Lines {
 public:
  void add(const std::string& line) {
    text_.append(static_cast<std::size_t>(2 * depth_), ' ');
    text_ += line + "\n";
  }
  void deeper() { ++depth_; }
  void shallower() { --depth_; }
  std::string fresh() { return cat("%", count_++); }

  Tensor pad(const Tensor& tensor, const Shape& to) {
    if (tensor.shape == to) return tensor;
    const Tensor zero{fresh(), {}, tensor.element};
    const bool integer = tensor.element == Element::kS8 || tensor.element == Element::kS32;
    add(cat(zero.name, " = stablehlo.constant dense<", integer ? "0" : "0.000000e+00",
            "> : ", zero.type()));
    const Tensor result{fresh(), to, tensor.element};
    Shape high;
    for (std::size_t i = 0; i < to.size(); ++i) high.push_back(to[i] - tensor.shape[i]);
    const Shape none(to.size(), 0);
    add(cat(result.name, " = stablehlo.pad ", tensor.name, ", ", zero.name, ", low = ",
            list_text(none), ", high = ", list_text(high), ", interior = ", list_text(none), " : (",
            tensor.type(), ", ", zero.type(), ") -> ", result.type()));
    return result;
  }
  // The first elements along each dimension.
  Tensor slice(const Tensor& tensor, const Shape& to) {
    if (tensor.shape == to) return tensor;
    const Tensor result{fresh(), to, tensor.element};
    const std::string ranges =
        joined(to, ", ", [](std::int64_t extent) { return cat("0:", extent); });
    add(cat(result.name, " = stablehlo.slice ", tensor.name, " [", ranges, "] : (", tensor.type(),
            ") -> ", result.type()));
    return result;
  }
  Tensor reshape(const Tensor& tensor, const Shape& to) {
    if (tensor.shape == to) return tensor;
    const Tensor result{fresh(), to, tensor.element};
    add(cat(result.name, " = stablehlo.reshape ", tensor.name, " : (", tensor.type(), ") -> ",
            result.type()));
    return result;
  }
  // Several results of one operation are "%3#0", "%3#1".
  static std::vector<Tensor> results(const std::string& name, std::vector<Tensor> like) {
    for (std::size_t i = 0; i < like.size(); ++i) {
      like[i].name = like.size() == 1 ? name : cat(name, "#", i);
    }
    return like;
  }
  static std::string bound_name(const std::string& name, const std::vector<Tensor>& results) {
    return results.size() == 1 ? name : cat(name, ":", results.size());
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 1;
  int count_ = 0;
};

class ModuleWriter {
 public:
  ModuleWriter(const Kernel& kernel, const std::string& config, Wrapper wrapper)
      : kernel_(kernel), config_(config), wrapper_(wrapper) {
    const Extents& asked = kernel.asked;
    const std::int64_t num_devices = kernel.ring.size();
    wholes_.push_back({{asked.m, asked.k}, kernel.element, 0});
    const bool even = asked.m % num_devices == 0;
    x_is_whole_ = !even && kernel.rows_asked < kRowsOfTile;
    for (const std::int64_t cols : asked.cols) {
      const std::int64_t n = cols * num_devices;
      wholes_.push_back(kernel.rhs_transposed ? Whole{{n, asked.k}, kernel.element, 0}
                                              : Whole{{asked.k, n}, kernel.element, 1});
      results_.push_back({{asked.m, n}, kernel.out_element, 1});
    }
    if (kernel.gathered) results_.push_back({{asked.m, asked.k}, kernel.element, kNoDimension});
  }

  std::string write() {
    switch (wrapper_) {
      case Wrapper::kReplica:
        replica();
        break;
      case Wrapper::kSdy:
        sdy();
        break;
      case Wrapper::kGspmd:
        gspmd();
        break;
    }
    const int num_devices = kernel_.program.num_devices;
    const bool replicas = wrapper_ == Wrapper::kReplica;
    return cat(
        "module @all_gather_matmul attributes {mhlo.num_partitions = ", replicas ? 1 : num_devices,
        " : i32, mhlo.num_replicas = ", replicas ? num_devices : 1, " : i32} {\n", lines_.take(),
        "}\n");
  }

 private:
  std::string argument_name(std::size_t i) const {
    if (i == 0) return "%x";
    return kernel_.asked.cols.size() == 1 ? "%y" : cat("%y", i - 1);
  }
  // Rows of x are shared out in equal parts: the last devices hold rows beyond m.
  Shape even(const Whole& whole) const {
    Shape shape = whole.shape;
    if (whole.split == 0 && shape[0] % kernel_.ring.size() != 0) {
      shape[0] = kernel_.rows_asked * kernel_.ring.size();
    }
    return shape;
  }
  Shape local(const Whole& whole) const {
    Shape shape = even(whole);
    if (whole.split != kNoDimension) {
      shape[static_cast<std::size_t>(whole.split)] /= kernel_.ring.size();
    }
    return shape;
  }
  std::vector<Tensor> arguments() const {
    std::vector<Tensor> tensors;
    for (const Whole& whole : wholes_) {
      tensors.push_back({argument_name(tensors.size()), whole.shape, whole.element});
    }
    return tensors;
  }
  std::vector<Tensor> local_arguments(std::string_view suffix) const {
    std::vector<Tensor> tensors;
    for (const Whole& whole : wholes_) {
      const std::string name = argument_name(tensors.size());
      tensors.push_back({cat(name, suffix), local(whole), whole.element});
    }
    return tensors;
  }
  std::vector<Tensor> whole_results() const {
    std::vector<Tensor> tensors;
    for (const Whole& whole : results_) tensors.push_back({{}, whole.shape, whole.element});
    return tensors;
  }

  // What each device does: pads, calls, cuts.
  std::vector<Tensor> on_device(const std::vector<Tensor>& given) {
    std::vector<Tensor> operands;
    if (!kernel_.table.empty()) operands.push_back(table());
    const Extents& padded = kernel_.padded;
    operands.push_back(lines_.pad(given[0], {kernel_.shard_rows, padded.k}));
    for (std::size_t i = 1; i < given.size(); ++i) {
      const std::int64_t cols = padded.cols[i - 1];
      operands.push_back(lines_.pad(
          given[i], kernel_.rhs_transposed ? Shape{cols, padded.k} : Shape{padded.k, cols}));
    }
    std::vector<Tensor> outputs = call(operands);
    outputs.resize(results_.size());  // scratch in HBM is an output that nobody wants
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = cut(outputs[i], local(results_[i]));
    }
    return outputs;
  }
  Tensor table() {
    const Tensor table{
        lines_.fresh(), {static_cast<std::int64_t>(kernel_.table.size())}, Element::kS32};
    lines_.add(cat(table.name, " = stablehlo.constant dense<",
                   list_text(Shape(kernel_.table.begin(), kernel_.table.end())),
                   "> : ", table.type()));
    return table;
  }
  // From [P * shard_rows, padded columns], the rows of each shard that were asked for.
  Tensor cut(const Tensor& padded, const Shape& to) {
    const std::int64_t num_devices = kernel_.ring.size();
    const Tensor columns = lines_.slice(padded, {padded.shape[0], to[1]});
    if (kernel_.shard_rows == kernel_.rows_asked) return lines_.slice(columns, to);
    const Tensor shards = lines_.reshape(columns, {num_devices, kernel_.shard_rows, to[1]});
    const Tensor rows = lines_.slice(shards, {num_devices, kernel_.rows_asked, to[1]});
    return lines_.slice(lines_.reshape(rows, {num_devices * kernel_.rows_asked, to[1]}), to);
  }
  std::vector<Tensor> call(const std::vector<Tensor>& operands) {
    std::vector<Tensor> outputs;
    for (const Buffer& buffer : kernel_.program.buffers) {
      if (buffer.role == Role::kOutput) outputs.push_back({{}, buffer.shape, buffer.element});
    }
    const std::string name = lines_.fresh();
    lines_.add(cat(Lines::bound_name(name, outputs), " = stablehlo.custom_call @tpu_custom_call(",
                   names_text(operands), ") {backend_config = ", string_literal(config_),
                   ", kernel_name = ", string_literal(kernel_.program.name),
                   ", operand_layouts = [", layouts_text(operands), "], result_layouts = [",
                   layouts_text(outputs), "]} : (", types_text(operands), ") -> ",
                   result_types_text(outputs)));
    return Lines::results(name, std::move(outputs));
  }

  // func.func public @main(%x: tensor<...> {...}) -> (tensor<...> {...}) {
  template <class Attribute>
  void open_main(const std::vector<Tensor>& arguments, const std::vector<Tensor>& results,
                 const Attribute& attribute) {
    std::string takes, gives;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      takes += cat(i == 0 ? "" : ", ", arguments[i].name, ": ", arguments[i].type(),
                   attribute(wholes_[i]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      gives += cat(i == 0 ? "" : ", ", results[i].type(), attribute(results_[i]));
    }
    lines_.add(cat("func.func public @main(", takes, ") -> (", gives, ") {"));
    lines_.deeper();
  }
  void close_main(const std::vector<Tensor>& results) {
    lines_.add(cat("return ", names_text(results), " : ", types_text(results)));
    lines_.shallower();
    lines_.add("}");
  }

  void replica() {
    std::vector<Tensor> results;
    for (const Whole& whole : results_) results.push_back({{}, local(whole), whole.element});
    const std::vector<Tensor> given = local_arguments("");
    open_main(given, results, [](const Whole&) { return ""; });
    close_main(on_device(given));
  }

  // As main takes it.
  Whole as_taken(Whole whole) const {
    if (x_is_whole_ && whole.split == 0) whole.split = kNoDimension;
    return whole;
  }
  std::string sdy_sharding(const Whole& whole) const {
    std::string dimensions;
    for (int i = 0; i < static_cast<int>(whole.shape.size()); ++i) {
      dimensions += cat(
          i == 0 ? "" : ", ", "{",
          i == whole.split ? string_literal(axis_name(kernel_.ring, kernel_.ring.axis)) : "", "}");
    }
    return cat("<@mesh, [", dimensions, "]>");
  }
  void sdy() {
    std::string mesh, manual;
    for (int i = 0; i < static_cast<int>(kernel_.ring.mesh.size()); ++i) {
      const std::string name = string_literal(axis_name(kernel_.ring, i));
      mesh += cat(i == 0 ? "" : ", ", name, "=", kernel_.ring.mesh[static_cast<std::size_t>(i)]);
      manual += cat(i == 0 ? "" : ", ", name);
    }
    lines_.add(cat("sdy.mesh @mesh = <[", mesh, "]>"));
    const auto sharding = [this](const Whole& whole) { return sdy_sharding(whole); };
    std::vector<Tensor> results = whole_results();
    std::vector<Tensor> given = arguments();
    open_main(given, results, [&](const Whole& whole) {
      return cat(" {sdy.sharding = #sdy.sharding", sharding(as_taken(whole)), "}");
    });
    given[0] = lines_.pad(given[0], even(wholes_[0]));
    const std::string name = lines_.fresh();
    const std::vector<Tensor> parts = local_arguments("_part");
    lines_.add(cat(
        Lines::bound_name(name, results), " = sdy.manual_computation(", names_text(given),
        ") in_shardings=[", joined(wholes_, ", ", sharding), "] out_shardings=[",
        joined(results_, ", ", sharding), "] manual_axes={", manual, "} (",
        joined(parts, ", ", [](const Tensor& part) { return cat(part.name, ": ", part.type()); }),
        ") {"));
    lines_.deeper();
    const std::vector<Tensor> outputs = on_device(parts);
    lines_.add(cat("sdy.return ", names_text(outputs), " : ", types_text(outputs)));
    lines_.shallower();
    lines_.add(cat("} : (", types_text(given), ") -> ", result_types_text(results)));
    close_main(Lines::results(name, std::move(results)));
  }

  // Devices are numbered row-major: those along the ring's axis first, the others are replicas.
  std::string gspmd_sharding(const Whole& whole) const {
    if (whole.split == kNoDimension) return "{replicated}";
    const Ring& ring = kernel_.ring;
    std::string tiles, mesh, order = std::to_string(ring.axis);
    for (int i = 0; i < static_cast<int>(whole.shape.size()); ++i) {
      tiles += cat(i == 0 ? "" : ",", i == whole.split ? ring.size() : 1);
    }
    for (int i = 0; i < static_cast<int>(ring.mesh.size()); ++i) {
      mesh += cat(i == 0 ? "" : ",", ring.mesh[static_cast<std::size_t>(i)]);
      if (i != ring.axis) order += cat(",", i);
    }
    if (ring.mesh.size() == 1) return cat("{devices=[", tiles, "]<=[", mesh, "]}");
    return cat("{devices=[", tiles, ",", ring.num_devices() / ring.size(), "]<=[", mesh, "]T(",
               order, ") last_tile_dim_replicate}");
  }
  Tensor annotated(const std::string& target, const std::string& sharding, const Tensor& from,
                   const Shape& to) {
    const Tensor result{lines_.fresh(), to, from.element};
    lines_.add(cat(result.name, " = stablehlo.custom_call @", target, "(", from.name,
                   ") {backend_config = \"\", mhlo.sharding = ", string_literal(sharding), "} : (",
                   from.type(), ") -> ", result.type()));
    return result;
  }
  void gspmd() {
    std::vector<Tensor> given = arguments();
    open_main(given, whole_results(), [this](const Whole& whole) {
      return cat(" {mhlo.sharding = ", string_literal(gspmd_sharding(as_taken(whole))), "}");
    });
    given[0] = lines_.pad(given[0], even(wholes_[0]));
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Tensor placed =
          annotated("Sharding", gspmd_sharding(wholes_[i]), given[i], given[i].shape);
      parts.push_back(annotated("SPMDFullToShardShape", "{manual}", placed, local(wholes_[i])));
    }
    std::vector<Tensor> outputs = on_device(parts);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor manual = annotated("Sharding", "{manual}", outputs[i], outputs[i].shape);
      outputs[i] =
          annotated("SPMDShardToFullShape", gspmd_sharding(results_[i]), manual, results_[i].shape);
    }
    close_main(outputs);
  }

  const Kernel& kernel_;
  const std::string& config_;
  Wrapper wrapper_;
  // Few rows that do not divide: XLA fails to lay out the parts of an f32 matrix on 7x that it cuts
  // and pads to less than a tile, so main takes all of x on each device.
  bool x_is_whole_ = false;
  std::vector<Whole> wholes_, results_;  // arguments and results of all devices
  Lines lines_;
};

}  // namespace

std::string axis_name(const Ring& ring, int axis) {
  return axis == ring.axis ? "x" : cat("a", axis);
}

Wrapper wrapper_of(const Kernel& kernel, Wrapper asked) {
  return kernel.program.num_devices == 1 ? Wrapper::kReplica : asked;
}

std::string stablehlo_module(const Kernel& kernel, const std::string& config,
                             const ModuleOptions& options) {
  return ModuleWriter(kernel, config, wrapper_of(kernel, options.wrapper)).write();
}

}  // namespace cmm::tpu::emit
