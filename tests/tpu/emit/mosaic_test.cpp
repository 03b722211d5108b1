#include "tpu/emit/mosaic.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <sstream>

#include "cmm/error.hpp"
#include "tpu/builder.hpp"
#include "tpu/emit/custom_call.hpp"
#include "tpu/emit/small_kernels.hpp"
#include "tpu/support/chips.hpp"

namespace cmm::tpu::emit {
namespace {

using test::small_kernels;
using test::SmallKernel;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

// "%12", "%arg3" from `at` on.
std::string value_at(const std::string& line, std::size_t at) {
  std::size_t end = at + 1;
  while (end < line.size() && std::isalnum(static_cast<unsigned char>(line[end])) != 0) ++end;
  return line.substr(at, end - at);
}

// Of Program's statements, with all that blocks hold.
struct Counts {
  int copies = 0, awaits = 0, signals = 0, semaphore_awaits = 0, reads = 0, matmuls = 0, ifs = 0,
      loops = 0, loads = 0, stores = 0, prints = 0, scopes = 0;
  void add(const Block& block) {
    for (const Statement& statement : block) {
      copies += std::holds_alternative<StartCopy>(statement.what);
      awaits += std::holds_alternative<AwaitCopy>(statement.what);
      signals += std::holds_alternative<Signal>(statement.what);
      semaphore_awaits += std::holds_alternative<Await>(statement.what);
      reads += std::holds_alternative<ReadScalar>(statement.what);
      matmuls += std::holds_alternative<Matmul>(statement.what);
      loads += std::holds_alternative<LoadVector>(statement.what);
      stores += std::holds_alternative<StoreVector>(statement.what);
      prints += std::holds_alternative<DebugPrint>(statement.what);
      if (const auto* branch = std::get_if<If>(&statement.what)) ++ifs, add(branch->then);
      if (const auto* loop = std::get_if<For>(&statement.what)) ++loops, add(loop->body);
      if (const auto* scope = std::get_if<Scope>(&statement.what)) ++scopes, add(scope->body);
    }
  }
};

TEST(Mosaic, HasTheOperationsOfTheProgram) {
  for (const SmallKernel& small : small_kernels()) {
    SCOPED_TRACE(small.name);
    Counts counts;
    counts.add(small.kernel.program.body);
    const std::string text = mosaic_text(to_mosaic(small.kernel.program, kDefaultVersion)).text;
    EXPECT_GT(counts.copies, 0);
    EXPECT_EQ(count(text, "tpu.enqueue_dma\""), counts.copies);
    EXPECT_EQ(count(text, "tpu.wait_dma2\""), counts.awaits);
    EXPECT_EQ(count(text, "tpu.sem_signal\""), counts.signals);
    EXPECT_EQ(count(text, "tpu.sem_wait\""), counts.semaphore_awaits);
    EXPECT_EQ(count(text, "memref.load\""), counts.reads);
    EXPECT_EQ(count(text, "tpu.matmul\""), counts.matmuls);
    EXPECT_EQ(count(text, "vector.load\""), counts.loads);
    EXPECT_EQ(count(text, "tpu.vector_store\""), counts.stores);
    EXPECT_EQ(count(text, "scf.if\""), counts.ifs);
    EXPECT_EQ(count(text, "scf.for\""), counts.loops);
    EXPECT_EQ(count(text, "tpu.log\""), counts.prints);
    EXPECT_EQ(count(text, "tpu.trace_start\""), counts.scopes);
    EXPECT_EQ(count(text, "tpu.trace_stop\""), counts.scopes);
  }
}

// Values are made before they are used, in a block that is still open there.
TEST(Mosaic, ValuesAreSeenWhereTheyAreUsed) {
  for (const SmallKernel& small : small_kernels()) {
    SCOPED_TRACE(small.name);
    const std::string text = mosaic_text(to_mosaic(small.kernel.program, kDefaultVersion)).text;
    std::vector<std::set<std::string>> open = {{}};
    int line_number = 0;
    for (const std::string& line : lines_of(text)) {
      ++line_number;
      const std::string trimmed = line.substr(line.find_first_not_of(' '));
      if (trimmed[0] == '}' && open.size() > 1) open.pop_back();
      const std::size_t types = trimmed.find(" : (");
      const std::size_t equals = trimmed.find(" = \"");
      const bool defines = trimmed[0] == '%';
      const bool arguments = trimmed[0] == '^';
      for (std::size_t at = trimmed.find('%'); at < types && at != std::string::npos;
           at = trimmed.find('%', at + 1)) {
        const std::string value = value_at(trimmed, at);
        if (arguments) {
          open.back().insert(value);
        } else if (!defines || at > equals) {
          bool seen = false;
          for (const auto& block : open) seen = seen || block.count(value) != 0;
          EXPECT_TRUE(seen) << "line " << line_number << ": " << value << " in " << trimmed;
        }
      }
      if (defines) {
        const std::string value = value_at(trimmed, 0);
        for (const auto& block : open) EXPECT_EQ(block.count(value), 0u) << value;
        open.back().insert(value);
      }
      if (trimmed.back() == '{') open.emplace_back();
    }
    EXPECT_EQ(open.size(), 1u);
  }
}

TEST(Mosaic, LinesLeadBackToNotes) {
  for (const SmallKernel& small : small_kernels()) {
    SCOPED_TRACE(small.name);
    const Program& program = small.kernel.program;
    const MosaicText text = mosaic_text(to_mosaic(program, kDefaultVersion));
    const std::vector<std::string> lines = lines_of(text.text);
    ASSERT_EQ(lines.size(), text.notes_of_lines.size());
    std::set<int> told;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const int note = text.notes_of_lines[i];
      ASSERT_LT(note, static_cast<int>(program.notes.size()));
      told.insert(note);
      if (lines[i].find("tpu.enqueue_dma") != std::string::npos) {
        EXPECT_GE(note, 0) << lines[i];
      }
    }
    EXPECT_EQ(told.size(), program.notes.size() + 1) << "each note, and lines without one";
  }
}

TEST(Mosaic, VersionsDifferWhereTheLanguageDoes) {
  const auto text_of = [](int version) {
    return mosaic_text(to_mosaic(small_kernels()[0].kernel.program, version)).text;
  };
  EXPECT_EQ(count(text_of(7), "strict_ordering"), 0);
  EXPECT_GT(count(text_of(8), "strict_ordering = false"), 0);
  EXPECT_EQ(count(text_of(10), "add = false"), 0);
  EXPECT_GT(count(text_of(11), "add = false"), 0);
  EXPECT_EQ(count(text_of(12), "transpose_lhs_hint"), 0);
  EXPECT_GT(count(text_of(13), "transpose_lhs_hint = false"), 0);
  EXPECT_GT(count(text_of(13), "array<i32: 1, 1, 1, 0>"), 0);
  EXPECT_EQ(count(text_of(14), "array<i32: 1, 1, 1, 0>"), 0);
  EXPECT_GT(count(text_of(14), "array<i32: 1, 1, 1, 0, 0>"), 0);
  EXPECT_GT(count(text_of(14), "array<i32: 1, 1, 1, 1, 1, 0, 0>"), 0);
  EXPECT_THROW(text_of(6), Error);
  EXPECT_THROW(text_of(21), Error);
}

TEST(Mosaic, RefusesWhatTheLanguageCannotSay) {
  const auto refusal = [](const Program& program) -> std::string {
    try {
      to_mosaic(program, kDefaultVersion);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      return error.what();
    }
    return "";
  };
  Program program;
  program.buffers = {{.name = "spill", .memory = Memory::kHbm, .shape = {8, 128}}};
  EXPECT_NE(refusal(program).find("scratch 'spill' lies in HBM"), std::string::npos);
  program.buffers = {{.name = "o", .memory = Memory::kVmem, .shape = {8}, .role = Role::kOutput}};
  EXPECT_NE(refusal(program).find("output 'o' lies in vmem"), std::string::npos);
  program.buffers = {{.name = "t", .memory = Memory::kSmem, .shape = {8}, .role = Role::kInput}};
  EXPECT_EQ(refusal(program), "");
  program.grid = {4};
  EXPECT_NE(refusal(program).find("input 't' lies in smem"), std::string::npos);
}

// Sections follow each other to the end of the file, and hold the names that are used.
TEST(Mosaic, BytecodeHasItsSections) {
  for (const SmallKernel& small : small_kernels()) {
    SCOPED_TRACE(small.name);
    const Program& program = small.kernel.program;
    const MosaicModule module = to_mosaic(program, kDefaultVersion);
    const std::string bytes = mosaic_bytecode(module, program.notes);
    const std::string head = std::string("ML\xEFR") + "\x01" + "cmm" + '\0';
    ASSERT_EQ(bytes.substr(0, head.size()), head);
    std::size_t at = head.size();
    for (char section = 0; section < 5; ++section) {
      ASSERT_LT(at, bytes.size());
      EXPECT_EQ(bytes[at++], section);
      int size = 1;
      const auto first = static_cast<unsigned char>(bytes[at]);
      while ((first >> (size - 1) & 1) == 0) ++size;
      std::uint64_t coded = 0;
      for (int i = 0; i < size; ++i) {
        coded |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
      }
      at += size + (coded >> size);
    }
    EXPECT_EQ(at, bytes.size());
    for (const std::string& note : program.notes) {
      EXPECT_NE(bytes.find(string_literal(note)), std::string::npos) << note;
    }
    EXPECT_NE(bytes.find("tpu.matmul"), std::string::npos);
    EXPECT_LT(bytes.size(), mosaic_text(module).text.size() / 2);
  }
}

TEST(Mosaic, StringLiterals) {
  EXPECT_EQ(string_literal("plain text: 1 + 2"), "\"plain text: 1 + 2\"");
  EXPECT_EQ(string_literal("a\"b\\c\n\x80"), "\"a\\22b\\5Cc\\0A\\80\"");
}

TEST(Base64, IsTheUsualOne) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("\xFF\xEF\xBE"), "/+++");
}

// A constant where a truth value is wanted, truth values that are chosen and summed.
TEST(Mosaic, ScalarsHaveTheTypeThatTheirUseWants) {
  Builder build("scalars");
  const Scalar device = build.device_id();
  const Scalar even = build.equal(build.rem(device, build.constant(2)), build.constant(0));
  const Scalar late = build.at_least(device, build.constant(5));
  const Scalar chosen = build.select(even, late, build.constant(1));
  build.when(chosen, [&] {
    build.debug_print("late {} of {}", {device, build.add(late, device)});
  });
  const std::string text = mosaic_text(to_mosaic(build.finish(), kDefaultVersion)).text;
  EXPECT_EQ(count(text, "arith.select\"("), 1);
  EXPECT_EQ(count(text, ": (i1, i1, i1) -> i1"), 1);
  EXPECT_EQ(count(text, "{value = true} : () -> i1"), 1);
  EXPECT_EQ(count(text, "arith.extui\"("), 1);
  EXPECT_EQ(count(text, "{formatted = true, tag = \"late $0 of $1\"} : (i32, i32) -> ()"), 1);
}

// What does not change is computed before a loop, what does inside; each once where it is seen.
TEST(Mosaic, InvariantsStandBeforeLoops) {
  Builder build("loop");
  const int s = build.semaphore({.name = "s", .kind = SemaphoreKind::kRegular});
  const Scalar neighbour =
      build.rem(build.add(build.device_id(), build.constant(1)), build.constant(4));
  build.loop(build.constant(0), build.constant(8), [&](Scalar index) {
    const Scalar twice = build.mul(index, build.constant(2));
    build.when(build.less(twice, build.constant(9)),
               [&] { build.signal({.semaphore = {s}, .amount = twice, .device = neighbour}); });
    build.signal({.semaphore = {s}, .amount = twice, .device = neighbour});
  });
  const std::string text = mosaic_text(to_mosaic(build.finish(), kDefaultVersion)).text;
  const std::size_t loop = text.find("scf.for");
  EXPECT_EQ(count(text, "arith.remsi"), 1);
  EXPECT_LT(text.find("arith.remsi"), loop);
  EXPECT_EQ(count(text, "arith.muli"), 1);
  EXPECT_GT(text.find("arith.muli"), loop);
}

}  // namespace
}  // namespace cmm::tpu::emit
