#include "tpu/text.hpp"

#include <array>
#include <utility>
#include <variant>

#include "base/text.hpp"

namespace cmm::tpu {
namespace {

// An expression longer than this is named where it is part of another, so that what is shared is
// written once: without a bound the text of a graph can be exponentially long.
constexpr std::size_t kLongExpression = 60;

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

std::string_view sign(ScalarOp op) {
  constexpr std::array<std::string_view, 13> kSigns = {
      "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"};
  return kSigns[static_cast<std::size_t>(op) - static_cast<std::size_t>(ScalarOp::kAdd)];
}

std::string vector_name(Vector vector) { return cat("v", vector.id); }

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return cat("[", joined(shape, ", "), "]");
}

std::string_view memory_name(Memory memory) {
  constexpr std::array<std::string_view, 3> kNames = {"hbm", "vmem", "smem"};
  return kNames[static_cast<std::size_t>(memory)];
}

TextWriter::TextWriter(const Program& program) : program_(program) {
  // Operands have lower numbers; a program for which that is not so is told of by check_program().
  const auto operand = [this](Scalar scalar) -> std::string {
    if (!scalar.known() || scalar.id >= static_cast<int>(scalars_.size())) return "?";
    std::string& text = scalars_[static_cast<std::size_t>(scalar.id)];
    if (text.size() > kLongExpression) {
      names_.emplace_back(cat("t", scalar.id), std::exchange(text, cat("t", scalar.id)));
    }
    return text.find(' ') == std::string::npos ? text : cat("(", text, ")");
  };
  for (const ScalarNode& node : program.scalars) {
    std::string text;
    switch (node.op) {
      case ScalarOp::kConstant:
        text = std::to_string(node.immediate);
        break;
      case ScalarOp::kDeviceId:
        text = "device";
        break;
      case ScalarOp::kGridIndex:
        text = cat("grid[", node.immediate, "]");
        break;
      case ScalarOp::kVariable:
        text = cat("s", scalars_.size());
        break;
      case ScalarOp::kSelect: {
        const std::string condition = operand(node.a), a = operand(node.b), b = operand(node.c);
        text = cat(condition, " ? ", a, " : ", b);
        break;
      }
      default: {
        const std::string a = operand(node.a), b = operand(node.b);
        text = cat(a, " ", sign(node.op), " ", b);
      }
    }
    scalars_.push_back(std::move(text));
  }
}

const std::string& TextWriter::scalar(Scalar scalar) const {
  static const std::string kNone = "?";
  const bool known = scalar.known() && scalar.id < static_cast<int>(scalars_.size());
  return known ? scalars_[static_cast<std::size_t>(scalar.id)] : kNone;
}

// "x[8 * device : +8, 0 : +128]": from an offset on, so many. Squeezed dimensions show the offset.
std::string TextWriter::slice(const Slice& slice) const {
  if (slice.buffer < 0 || slice.buffer >= static_cast<int>(program_.buffers.size())) return "?";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < slice.offsets.size() && i < slice.sizes.size(); ++i) {
    const std::string& offset = scalar(slice.offsets[i]);
    const bool squeezed = static_cast<int>(i) < slice.num_squeezed;
    parts.push_back(squeezed ? offset : cat(offset, " : +", slice.sizes[i]));
  }
  return cat(program_.buffers[static_cast<std::size_t>(slice.buffer)].name, "[",
             joined(parts, ", "), "]");
}

std::string TextWriter::semaphore(const SemaphoreRef& semaphore) const {
  const bool known =
      semaphore.array >= 0 && semaphore.array < static_cast<int>(program_.semaphores.size());
  if (!known) return "?";
  const std::string& name = program_.semaphores[static_cast<std::size_t>(semaphore.array)].name;
  if (semaphore.index.empty()) return name;
  const auto text = [this](Scalar index) { return scalar(index); };
  return cat(name, "[", joined(semaphore.index, ", ", text), "]");
}

std::string TextWriter::line(const Statement& statement) const {
  const auto made = [](Vector result) { return vector_name(result) + " = "; };
  return std::visit(
      Overload{
          [&](const StartCopy& copy) {
            const std::string text = cat("copy ", slice(copy.source), " -> ", slice(copy.target));
            if (!copy.remote) return cat(text, ", arrival ", semaphore(copy.arrival));
            return cat(text, " on device ", scalar(copy.remote->device), ", departure ",
                       semaphore(copy.remote->departure), ", arrival ", semaphore(copy.arrival));
          },
          [&](const AwaitCopy& await) {
            constexpr std::array<std::string_view, 3> kSides = {"copy", "departure", "arrival"};
            const bool departure = await.side == AwaitCopy::Side::kDeparture;
            return cat("await ", kSides[static_cast<std::size_t>(await.side)], " ",
                       semaphore(await.semaphore), ", bytes of ",
                       slice(departure ? await.source : await.target));
          },
          [&](const Signal& signal) {
            const std::string text =
                cat("signal ", semaphore(signal.semaphore), " by ", scalar(signal.amount));
            return signal.device.known() ? cat(text, " on device ", scalar(signal.device)) : text;
          },
          [&](const Await& await) {
            return cat("await ", semaphore(await.semaphore), " >= ", scalar(await.amount));
          },
          [&](const ReadScalar& read) {
            std::vector<std::string> index;
            for (const Scalar at : read.index) index.push_back(scalar(at));
            const bool known =
                read.buffer >= 0 && read.buffer < static_cast<int>(program_.buffers.size());
            return cat(scalar(read.result), " = ",
                       known ? program_.buffers[static_cast<std::size_t>(read.buffer)].name : "?",
                       "[", joined(index, ", "), "]");
          },
          [&](const LoadVector& load) { return cat(made(load.result), "load ", slice(load.from)); },
          [&](const StoreVector& store) {
            return cat("store ", vector_name(store.value), " -> ", slice(store.to));
          },
          [&](const ZeroVector& zero) { return cat(made(zero.result), "zero"); },
          [&](const Matmul& matmul) {
            return cat(made(matmul.result), "matmul ", vector_name(matmul.lhs), ", ",
                       vector_name(matmul.rhs), matmul.rhs_transposed ? " transposed" : "");
          },
          [&](const AddVectors& add) {
            return cat(made(add.result), vector_name(add.a), " + ", vector_name(add.b));
          },
          [&](const SelectVector& select) {
            return cat(made(select.result), scalar(select.condition), " ? ", vector_name(select.a),
                       " : ", vector_name(select.b));
          },
          [&](const CastVector& cast) {
            return cat(made(cast.result), "cast ", vector_name(cast.from));
          },
          [&](const ReshapeVector& reshape) {
            return cat(made(reshape.result), "reshape ", vector_name(reshape.from));
          },
          [&](const If& branch) { return cat("if ", scalar(branch.condition)); },
          [&](const For& loop) {
            return cat("for ", scalar(loop.index), " in ", scalar(loop.begin), " .. ",
                       scalar(loop.end));
          },
          [&](const Scope& scope) { return cat("scope ", scope.name); },
          [&](const DebugPrint& print) {
            std::vector<std::string> values;
            for (const Scalar value : print.values) values.push_back(", " + scalar(value));
            std::string text = cat("print \"", print.text, "\"");
            for (const std::string& value : values) text += value;
            return text;
          },
      },
      statement.what);
}

std::string TextWriter::note(const Statement& statement) const {
  const bool known =
      statement.note >= 0 && statement.note < static_cast<int>(program_.notes.size());
  return known ? cat(" (", program_.notes[static_cast<std::size_t>(statement.note)], ")") : "";
}

}  // namespace cmm::tpu
