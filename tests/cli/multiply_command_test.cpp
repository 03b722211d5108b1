// cmm multiply on real files.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "buffer.hpp"
#include "cmm/error.hpp"
#include "files/matrix_writer.hpp"
#include "files/read_matrix.hpp"
#include "generator.hpp"
#include "run_tool.hpp"

namespace cmm::cli {
namespace {

Matrix generated(DType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix m(dtype, rows, cols);
  generate_block({seed, 0}, {}, m.ref());
  return m;
}

std::string write(const std::string& spec, const Matrix& m) {
  files::MatrixWriter writer(spec, m.dtype(), m.rows(), m.cols());
  writer.write_rows(m.ref());
  writer.commit();
  return spec;
}

// A Fortran order file: the header of version 1 says so, the data is the transposed matrix.
std::string write_fortran(const std::string& path, const Matrix& m) {
  std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (" +
                       std::to_string(m.rows()) + ", " + std::to_string(m.cols()) + "), }";
  header.resize(118, ' ');
  header.back() = '\n';
  std::ofstream out(path, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
  const auto* data = static_cast<const float*>(m.ref().data);
  for (std::int64_t j = 0; j < m.cols(); ++j) {
    for (std::int64_t i = 0; i < m.rows(); ++i) {
      out.write(reinterpret_cast<const char*>(data + i * m.cols() + j), sizeof(float));
    }
  }
  return path;
}

Matrix transposed(const Matrix& m) {
  Matrix t(m.dtype(), m.cols(), m.rows());
  copy_matrix(StridedMatrixRef(m.ref()).transposed(), t.ref());
  return t;
}

// out [m, n] by the fmaf chain.
std::vector<float> chain(const Matrix& x, const Matrix& y) {
  const auto* a = static_cast<const float*>(x.ref().data);
  const auto* b = static_cast<const float*>(y.ref().data);
  std::vector<float> out;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    for (std::int64_t j = 0; j < y.cols(); ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < x.cols(); ++k) {
        sum = std::fma(a[i * x.cols() + k], b[k * y.cols() + j], sum);
      }
      out.push_back(sum);
    }
  }
  return out;
}

void expect_holds(const std::string& spec, const std::vector<float>& want, std::int64_t rows,
                  std::int64_t cols) {
  const files::Tensor read = files::read_matrix(spec);
  ASSERT_EQ(read.view.rows, rows);
  ASSERT_EQ(read.view.cols, cols);
  ASSERT_EQ(read.view.dtype, DType::kF32);
  EXPECT_EQ(std::memcmp(read.view.data, want.data(), want.size() * sizeof(float)), 0);
}

class Multiply : public testing::Test {
 protected:
  ToolResult multiply(const std::string& line) {
    std::vector<std::string> words = {"multiply"};
    for (std::string word : words_of(line)) {
      for (std::size_t at; (at = word.find('@')) != std::string::npos;) {
        word.replace(at, 1, scratch_.file(""));
      }
      words.push_back(word);
    }
    return run_tool(words);
  }
  std::string file(const std::string& name) const { return scratch_.file(name); }

  Scratch scratch_;
  Matrix x_ = generated(DType::kF32, 23, 37, 1);
  Matrix y_ = generated(DType::kF32, 37, 29, 2);
};

TEST_F(Multiply, WritesTheProductForEveryNumberOfRanks) {
  write(file("x.npy"), x_);
  write(file("y.npy"), y_);
  const std::vector<float> want = chain(x_, y_);
  for (const char* ranks : {"1", "2", "5", "40"}) {
    const ToolResult result =
        multiply(std::string("@x.npy @y.npy -o @out.npy --check --ranks ") + ranks);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("right: all 667 elements compared"), std::string::npos);
    expect_holds(file("out.npy"), want, 23, 29);
  }
}

TEST_F(Multiply, TakesEveryStoredFormOfTheOperands) {
  write(file("x.npy"), x_);
  write(file("y.npy"), y_);
  write(file("yt.safetensors:w"), transposed(y_));
  write_fortran(file("xf.npy"), x_);
  write_fortran(file("yf.npy"), y_);
  const std::vector<float> want = chain(x_, y_);
  for (const char* line :
       {"@x.npy @yt.safetensors:w --transpose-y -o @a.npy", "@xf.npy @y.npy -o @a.npy",
        "@x.npy @yf.npy -o @a.npy", "@xf.npy @yt.safetensors --transpose-y -o @a.npy --ranks 3"}) {
    const ToolResult result = multiply(std::string(line) + " --check --json");
    EXPECT_EQ(result.exit_code, 0) << line << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["correct"], true) << line;
    expect_holds(file("a.npy"), want, 23, 29);
  }
  const ToolResult result = multiply("@x.npy @y.npy -o @out.safetensors:product");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_holds(file("out.safetensors:product"), want, 23, 29);
}

TEST_F(Multiply, ConvertsTheOutputWhenAsked) {
  write(file("x.npy"), x_);
  write(file("y.npy"), y_);
  EXPECT_EQ(multiply("@x.npy @y.npy -o @out.npy --out-dtype bf16 --check").exit_code, 0);
  const files::Tensor out = files::read_matrix(file("out.npy"));
  ASSERT_EQ(out.view.dtype, DType::kBF16);
  const std::vector<float> want = chain(x_, y_);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(static_cast<const BFloat16*>(out.view.data)[i], to_bf16(want[i]));
  }
}

TEST_F(Multiply, RefusesOperandsThatDoNotFitNamingBoth) {
  write(file("x.npy"), x_);
  write(file("y.npy"), y_);
  write(file("half.npy"), generated(DType::kF16, 37, 29, 2));
  expect_refused(multiply("@x.npy @half.npy -o @out.npy"), 2, "y is f16 [37, 29]");
  expect_refused(multiply("@y.npy @x.npy -o @out.npy"), 2, "with k = 29 columns");
  expect_refused(multiply("@x.npy @y.npy --transpose-y -o @out.npy"), 2, "leave --transpose-y out");
  expect_refused(multiply("@x.npy @x.npy -o @out.npy"), 2, "give --transpose-y");
  EXPECT_EQ(scratch_.names().size(), 3u);  // no output, no rest of one
}

TEST_F(Multiply, RefusesToWriteOverItsInput) {
  write(file("x.npy"), x_);
  write(file("y.npy"), y_);
  std::filesystem::create_symlink(file("y.npy"), file("link.npy"));
  const std::string before = content_of(file("y.npy"));
  expect_refused(multiply("@x.npy @y.npy -o @y.npy"), 2, "is the input");
  expect_refused(multiply("@x.npy @y.npy -o @link.npy"), 2, "is the input");
  EXPECT_EQ(content_of(file("y.npy")), before);
}

TEST_F(Multiply, NamesTheFileThatIsMissingOrBad) {
  write(file("x.npy"), x_);
  expect_refused(multiply("@x.npy @no.npy -o @out.npy"), 3, "no.npy");
  std::ofstream(file("bad.npy")) << "this is no matrix";
  expect_refused(multiply("@x.npy @bad.npy -o @out.npy"), 3, "bad.npy");
  write(file("y.npy"), y_);
  std::filesystem::resize_file(file("y.npy"), 200);
  expect_refused(multiply("@x.npy @y.npy -o @out.npy"), 3, "y.npy");
  write(file("y.npy"), y_);
  expect_refused(multiply("@x.npy @y.npy -o @no/folder/out.npy"), 3, "no/folder");
}

// A file of 4 TB without contents: reading it would take hours.
TEST_F(Multiply, WeighsMemoryBeforeItReads) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }";
  header.resize(118, ' ');
  header.back() = '\n';
  std::ofstream(file("x.npy"), std::ios::binary)
      << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
  std::error_code error;
  std::filesystem::resize_file(file("x.npy"), 128 + 4'000'000'000'000, error);
  if (error) GTEST_SKIP() << "no file of 4 TB in the folder of temporary files";
  write(file("y.npy"), generated(DType::kF32, 1'000'000, 1, 1));
  expect_refused(multiply("@x.npy @y.npy -o @out.npy"), 2, "this product needs 4.0");
}

TEST_F(Multiply, TakesEmptyMatrices) {
  write(file("x.npy"), generated(DType::kF32, 0, 37, 1));
  write(file("y.npy"), y_);
  EXPECT_EQ(multiply("@x.npy @y.npy -o @out.npy --check --ranks 3").exit_code, 0);
  expect_holds(file("out.npy"), {}, 0, 29);
  write(file("x.npy"), generated(DType::kF32, 3, 0, 1));
  write(file("y.npy"), generated(DType::kF32, 0, 5, 1));
  EXPECT_EQ(multiply("@x.npy @y.npy -o @out.npy --check --ranks 2").exit_code, 0);
  expect_holds(file("out.npy"), std::vector<float>(15, 0.0f), 3, 5);
}

// More work than one call does.
TEST_F(Multiply, JoinsTheCallsOfALongProduct) {
  write(file("x.npy"), generated(DType::kBF16, 5000, 512, 1));
  write(file("y.npy"), generated(DType::kBF16, 512, 4200, 2));
  const ToolResult result = multiply("@x.npy @y.npy -o @out.npy --check --json --ranks 3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["correct"], true);
}

// A product long enough to be stopped in the middle of it.
class LongMultiply : public Multiply {
 protected:
  // Returns once the unfinished output is there.
  pid_t start() {
    write(file("x.npy"), generated(DType::kF32, 2000, 2000, 1));
    write(file("y.npy"), generated(DType::kF32, 2000, 2000, 2));
    const pid_t pid = start_tool({"multiply", file("x.npy"), file("y.npy"), "-o", file("out.npy"),
                                  "--isa", "portable", "--check"},
                                 "/dev/null", "/dev/null");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!has_unfinished_output(pid, scratch_) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return pid;
  }
};

TEST_F(LongMultiply, LeavesNothingBehindWhenItIsStopped) {
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM}) {
    const pid_t pid = start();
    ASSERT_EQ(kill(pid, signal), 0);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << strsignal(signal);
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(scratch_.names().size(), 2u) << strsignal(signal);
  }
}

// As nohup starts it.
TEST_F(LongMultiply, GoesOnWhereASignalIsIgnored) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGHUP, &ignore, &before), 0);
  const pid_t pid = start();
  ASSERT_EQ(sigaction(SIGHUP, &before, nullptr), 0);
  ASSERT_EQ(kill(pid, SIGHUP), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(has_unfinished_output(pid, scratch_));
  ASSERT_EQ(kill(pid, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

}  // namespace
}  // namespace cmm::cli
