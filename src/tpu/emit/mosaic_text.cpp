#include <utility>

#include "base/text.hpp"
#include "tpu/emit/mosaic.hpp"

namespace cmm::tpu::emit {
namespace {

class TextForm {
 public:
  explicit TextForm(const MosaicModule& module) : module_(module), names_(module.types.size()) {}

  MosaicText write() {
    line(0, cat("module attributes {stable_mosaic.version = ", module_.version, " : i64} {"), -1);
    op(1, module_.function);
    line(0, "}", -1);
    return std::move(written_);
  }

 private:
  void line(int depth, std::string_view text, int note) {
    written_.text.append(static_cast<std::size_t>(2 * depth), ' ');
    written_.text += text;
    written_.text += '\n';
    written_.notes_of_lines.push_back(note);
  }
  const std::string& name(Value value) { return names_[static_cast<std::size_t>(value.id)]; }
  const std::string& type(Value value) const {
    return module_.types[static_cast<std::size_t>(value.id)];
  }

  void op(int depth, const Op& op) {
    std::string head, types;
    if (op.result.id >= 0) {
      std::string& result = names_[static_cast<std::size_t>(op.result.id)];
      result = cat("%", num_results_++);
      head = result + " = ";
    }
    head += cat("\"stable_mosaic.", op.name, "\"(");
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const std::string_view comma = i == 0 ? "" : ", ";
      head += comma;
      head += name(op.operands[i]);
      types += comma;
      types += type(op.operands[i]);
    }
    head += ")";
    if (!op.regions.empty()) {
      line(depth, head + " ({", op.note);
      for (std::size_t i = 0; i < op.regions.size(); ++i) {
        if (i > 0) line(depth, "}, {", op.note);
        region(depth, op.regions[i], op.note);
      }
      head = "})";
    }
    if (!op.attributes.empty()) head += cat(" {", op.attributes, "}");
    head += cat(" : (", types, ") -> ", op.result.id >= 0 ? type(op.result) : "()");
    line(depth, head, op.note);
  }

  void region(int depth, const Region& region, int note) {
    if (!region.arguments.empty()) {
      std::string arguments;
      for (const Value argument : region.arguments) {
        std::string& name = names_[static_cast<std::size_t>(argument.id)];
        name = cat("%arg", num_arguments_++);
        arguments += cat(arguments.empty() ? "" : ", ", name, ": ", type(argument));
      }
      line(depth, cat("^bb0(", arguments, "):"), note);
    }
    for (const Op& each : region.ops) op(depth + 1, each);
  }

  const MosaicModule& module_;
  std::vector<std::string> names_;  // of values
  int num_results_ = 0, num_arguments_ = 0;
  MosaicText written_;
};

}  // namespace

std::string string_literal(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string literal = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\' || byte < 0x20 || byte >= 0x7F) {
      literal += '\\';
      literal += kDigits[byte >> 4];
      literal += kDigits[byte & 15];
    } else {
      literal += each;
    }
  }
  return literal + '"';
}

MosaicText mosaic_text(const MosaicModule& module) { return TextForm(module).write(); }

}  // namespace cmm::tpu::emit
