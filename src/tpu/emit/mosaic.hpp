// A Mosaic module as a tree of operations, and its two written forms. Mosaic is the language of TPU
// kernels that libtpu compiles (jax-ml/jax, jaxlib/mosaic/dialect/tpu); its serialized form is that
// tree with each name prefixed by "stable_mosaic." and a version number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu::emit {

// Versions of the serialized form. libtpu reads those up to its own: 8 is read by 0.0.24 (October
// 2025) and later; before 7 the wait for a copy had other operands.
inline constexpr int kOldestVersion = 7;
inline constexpr int kDefaultVersion = 8;
inline constexpr int kNewestVersion = 20;

struct Value {
  int id = -1;
};

struct Op;
struct Region {
  std::vector<Value> arguments = {};
  std::vector<Op> ops = {};
};
struct Op {
  std::string name;  // "tpu.matmul"
  std::vector<Value> operands = {};
  std::string attributes = {};  // "a = 1 : i32, b = [2]"
  Value result = {};
  std::vector<Region> regions = {};
  int note = -1;  // of the statement it comes from: an index into Program::notes
};

struct MosaicModule {
  int version = kDefaultVersion;
  std::vector<std::string> types;  // of each value
  Op function;
};

// Throws Error(kInvalidArgument) for a version that is not among those above, Error(kUnsupported)
// for a program that the language cannot say: scratch in HBM, a grid with an operand in SMEM. The
// program is one that check_program() passes.
MosaicModule to_mosaic(const Program& program, int version);

struct MosaicText {
  std::string text;                 // one operation a line
  std::vector<int> notes_of_lines;  // of line i + 1: an index into Program::notes, or -1
};
MosaicText mosaic_text(const MosaicModule& module);

// MLIR bytecode of version 0, with attributes, types and locations as text. A location is the note
// of the statement that the operation comes from.
std::string mosaic_bytecode(const MosaicModule& module, const std::vector<std::string>& notes);

// A string literal of MLIR, quotes included.
std::string string_literal(std::string_view text);

}  // namespace cmm::tpu::emit
