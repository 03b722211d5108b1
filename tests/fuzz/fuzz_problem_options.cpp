// The flags that describe a problem: words, one a line, taken the way the tool takes them.
#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "cmm/error.hpp"
#include "problem.hpp"
#include "problem_options.hpp"
#include "world.hpp"

namespace {

using cmm::cli::Problem;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_fits(std::int64_t rows, std::int64_t cols, cmm::DType dtype) {
  std::int64_t bytes = 0;
  require(rows >= 0 && cols >= 0 && !__builtin_mul_overflow(rows, cols, &bytes) &&
          !__builtin_mul_overflow(bytes, cmm::dtype_bytes(dtype), &bytes));
}

void require_sound(const Problem& p) {
  require(p.ranks >= 1 && p.ranks <= cmm::kMaxRanks && p.threads >= 1);
  require(p.pieces >= 0 && p.hosts >= 0 && p.hosts <= p.ranks && p.num_weights >= 1);
  require_fits(p.m, p.k, p.dtype);
  require_fits(p.k, p.n, p.dtype);
  require_fits(p.m, p.n, p.output_dtype());
  require(cmm::cli::problem_bytes(p) >= 0);
  if (!p.rows.empty()) {
    require(p.rows.size() == static_cast<std::size_t>(p.ranks));
    require(std::accumulate(p.rows.begin(), p.rows.end(), std::int64_t{0}) == p.m);
  }
  // Where one rank's part ends the next begins. Quadratic in the ranks, so not for very many.
  constexpr int kMaxRanksWalked = 64;
  if (p.ranks > kMaxRanksWalked) return;
  std::int64_t row = 0, col = 0;
  for (int rank = 0; rank < p.ranks; ++rank) {
    const cmm::cli::RankPart part = cmm::cli::part_of(p, rank);
    require(part.first_row == row && part.first_col == col && part.rows >= 0 && part.cols >= 0);
    row += part.rows;
    col += part.cols;
  }
  require(row == p.m && col == p.n);
}

std::vector<std::string> words_of(std::string_view input) {
  constexpr std::size_t kMaxWords = 64;
  std::vector<std::string> words;
  while (!input.empty() && words.size() < kMaxWords) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    // Words of a command line end at a zero byte.
    words.emplace_back(input.substr(0, std::min(input.find('\0'), end)));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> words = words_of({reinterpret_cast<const char*>(data), size});
  std::vector<const char*> argv = {"cmm"};
  for (const std::string& word : words) argv.push_back(word.c_str());

  CLI::App app;
  cmm::cli::ProblemOptions options;
  options.add_execution_to(app);
  options.add_data_to(app);
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
    static const std::unique_ptr<cmm::cli::World> world = cmm::cli::make_threads_world();
    require_sound(options.problem(*world));
  } catch (const CLI::ParseError&) {  // the tool makes a line of it; also --help
  } catch (const cmm::Error& error) {
    require(error.code() == cmm::ErrorCode::kInvalidArgument ||
            error.code() == cmm::ErrorCode::kUnsupported);
    require(!std::string_view(error.what()).empty());
  }
  return 0;
}
