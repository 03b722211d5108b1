// MLIR bytecode, version 0 (llvm/llvm-project, mlir/docs/BytecodeFormat.md), of just what a Mosaic
// module needs: every attribute, type and location is stored as its text.
#include <cstdint>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "tpu/emit/mosaic.hpp"

namespace cmm::tpu::emit {
namespace {

enum class Section : char { kStrings = 0, kDialects = 1, kData = 2, kOffsets = 3, kIr = 4 };

// What an operation has, as bits of its mask.
constexpr unsigned kHasAttributes = 1, kHasResults = 2, kHasOperands = 4, kHasRegions = 16;

// n bytes hold 7 n bits; the number of zeros below the lowest one of the first byte is n - 1.
void put_number(std::string& out, std::uint64_t value) {
  int size = 1;
  while (size < 9 && value >> (7 * size) != 0) ++size;
  if (size == 9) {
    out += '\0';
    for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
    return;
  }
  const std::uint64_t coded = value << size | std::uint64_t{1} << (size - 1);
  for (int i = 0; i < size; ++i) out += static_cast<char>(coded >> (8 * i));
}
void put_text(std::string& out, std::string_view text) {
  out += text;
  out += '\0';
}

class Numbering {
 public:
  std::uint64_t operator()(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::uint64_t> numbers_;
  std::vector<std::string> texts_;
};

class BytecodeForm {
 public:
  BytecodeForm(const MosaicModule& module, const std::vector<std::string>& notes)
      : module_(module), notes_(notes), numbers_(module.types.size()) {}

  std::string write() {
    std::string ir;
    put_number(ir, 1 << 1);  // the top level: one operation, no arguments
    put_number(ir, 0);       // builtin.module
    ir += static_cast<char>(kHasAttributes | kHasRegions);
    put_number(ir, attributes_("loc(unknown)"));
    put_number(ir, attributes_(cat("{stable_mosaic.version = ", module_.version, " : i64}")));
    put_number(ir, 1 << 1 | 1);  // one region, isolated: its values are numbered from 0
    put_number(ir, 1);           // one block
    put_number(ir, 0);           // without values
    put_number(ir, 1 << 1);      // one operation
    op(ir, module_.function, 0);

    std::string file = "ML\xEFR";
    put_number(file, 0);
    put_text(file, "cmm");
    std::string dialects = dialect_section();
    std::string offsets, data;
    put_number(offsets, attributes_.texts().size());
    put_number(offsets, types_.texts().size());
    data_group(offsets, data, attributes_);
    data_group(offsets, data, types_);
    section(file, Section::kStrings, string_section());
    section(file, Section::kDialects, dialects);
    section(file, Section::kData, data);
    section(file, Section::kOffsets, offsets);
    section(file, Section::kIr, ir);
    return file;
  }

 private:
  static void section(std::string& file, Section id, const std::string& bytes) {
    file += static_cast<char>(id);
    put_number(file, bytes.size());
    file += bytes;
  }

  // Two dialects, and the names of operations: the module, then those of Mosaic.
  std::string dialect_section() {
    std::string bytes;
    put_number(bytes, 2);
    put_number(bytes, strings_("builtin"));
    put_number(bytes, strings_("stable_mosaic"));
    put_number(bytes, 0);
    put_number(bytes, 1);
    put_number(bytes, strings_("module"));
    put_number(bytes, 1);
    put_number(bytes, ops_.texts().size());
    for (const std::string& name : ops_.texts()) put_number(bytes, strings_(name));
    return bytes;
  }
  // Lengths backwards, then the strings.
  std::string string_section() const {
    const std::vector<std::string>& texts = strings_.texts();
    std::string bytes;
    put_number(bytes, texts.size());
    for (std::size_t i = texts.size(); i-- > 0;) put_number(bytes, texts[i].size() + 1);
    for (const std::string& text : texts) put_text(bytes, text);
    return bytes;
  }
  static void data_group(std::string& offsets, std::string& data, const Numbering& entries) {
    put_number(offsets, 0);  // of dialect builtin
    put_number(offsets, entries.texts().size());
    for (const std::string& text : entries.texts()) {
      put_text(data, text);
      put_number(offsets, (text.size() + 1) << 1);  // as text
    }
  }

  std::uint64_t type(Value value) {
    return types_(module_.types[static_cast<std::size_t>(value.id)]);
  }
  std::string location(int note) const {
    if (note < 0 || note >= static_cast<int>(notes_.size())) return "loc(unknown)";
    return cat("loc(", string_literal(notes_[static_cast<std::size_t>(note)]), ")");
  }

  // Values of a region are numbered from `first` on: its arguments, then the results.
  void op(std::string& ir, const Op& op, std::uint64_t first) {
    put_number(ir, 1 + ops_(op.name));
    unsigned mask = 0;
    if (!op.attributes.empty()) mask |= kHasAttributes;
    if (op.result.id >= 0) mask |= kHasResults;
    if (!op.operands.empty()) mask |= kHasOperands;
    if (!op.regions.empty()) mask |= kHasRegions;
    ir += static_cast<char>(mask);
    put_number(ir, attributes_(location(op.note)));
    if (!op.attributes.empty()) put_number(ir, attributes_(cat("{", op.attributes, "}")));
    if (op.result.id >= 0) {
      put_number(ir, 1);
      put_number(ir, type(op.result));
    }
    if (!op.operands.empty()) {
      put_number(ir, op.operands.size());
      for (const Value operand : op.operands) {
        put_number(ir, numbers_[static_cast<std::size_t>(operand.id)]);
      }
    }
    if (!op.regions.empty()) {
      put_number(ir, op.regions.size() << 1);
      for (const Region& each : op.regions) region(ir, each, first);
    }
  }

  void region(std::string& ir, const Region& region, std::uint64_t first) {
    std::uint64_t next = first;
    const auto number = [&](Value value) { numbers_[static_cast<std::size_t>(value.id)] = next++; };
    for (const Value argument : region.arguments) number(argument);
    for (const Op& each : region.ops) {
      if (each.result.id >= 0) number(each.result);
    }
    put_number(ir, 1);  // one block
    put_number(ir, next - first);
    put_number(ir, region.ops.size() << 1 | (region.arguments.empty() ? 0 : 1));
    if (!region.arguments.empty()) {
      put_number(ir, region.arguments.size());
      for (const Value argument : region.arguments) {
        put_number(ir, type(argument));
        put_number(ir, attributes_("loc(unknown)"));
      }
    }
    for (const Op& each : region.ops) op(ir, each, next);
  }

  const MosaicModule& module_;
  const std::vector<std::string>& notes_;
  std::vector<std::uint64_t> numbers_;  // of values
  Numbering strings_, attributes_, types_, ops_;
};

}  // namespace

std::string mosaic_bytecode(const MosaicModule& module, const std::vector<std::string>& notes) {
  return BytecodeForm(module, notes).write();
}

}  // namespace cmm::tpu::emit
