// Reading .npy: what numpy writes is understood, and every way a file can be wrong is told.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "cli/files_support.hpp"
#include "cli/golden_files.hpp"
#include "files/npy_header.hpp"
#include "files/read_matrix.hpp"

namespace cmm::files {
namespace {
using namespace std::string_literals;

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

class Npy : public InTemporaryFolder {
 protected:
  std::string error_of_file(const std::string& content) const {
    return error_of([&] { read_matrix(write("x.npy", content)); });
  }
  std::string error_of_header(const std::string& header) const {
    return error_of_file(npy_bytes(1, header, golden::kF32Data));
  }
};

TEST_F(Npy, ReadsWhatNumpyWrites) {
  const Tensor f32 = read_matrix(write("f32.npy", golden::kNpyF32));
  EXPECT_EQ(f32.view.dtype, DType::kF32);
  EXPECT_EQ(f32.view.rows, 2);
  EXPECT_EQ(f32.view.cols, 3);
  EXPECT_EQ(values(f32.view), golden::values_of(65504));
  EXPECT_EQ(f32.description, "f32 [2, 3] of " + path("f32.npy"));

  const Tensor f16 = read_matrix(write("f16.npy", golden::kNpyF16));
  EXPECT_EQ(f16.view.dtype, DType::kF16);
  EXPECT_EQ(values(f16.view), golden::values_of(65504));

  const Tensor bf16 = read_matrix(write("bf16.npy", golden::kNpyBF16));
  EXPECT_EQ(bf16.view.dtype, DType::kBF16);
  EXPECT_EQ(values(bf16.view), golden::values_of(65536));
}

TEST_F(Npy, ExposesFortranOrderAsStrides) {
  const Tensor t = read_matrix(write("t.npy", golden::kNpyF16Fortran));
  EXPECT_EQ(t.view.row_stride, 1);
  EXPECT_EQ(t.view.col_stride, 2);
  EXPECT_EQ(values(t.view), golden::values_of(65504));
}

TEST_F(Npy, ReadsEveryVersion) {
  for (const int version : {1, 2, 3}) {
    const Tensor t = read_matrix(write("t.npy", npy_bytes(version, kHeader, golden::kF32Data)));
    EXPECT_EQ(values(t.view), golden::values_of(65504)) << "version " << version;
  }
}

TEST_F(Npy, ReadsAnyLayoutOfTheHeader) {
  for (const std::string header : {
           "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
           " { 'fortran_order' : False ,\n'shape'\t: ( 2 , 3 , ) , 'descr' :'<f4' , } \r\n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0002, 3)}",
       }) {
    const Tensor t = read_matrix(write("t.npy", npy_bytes(1, header, golden::kF32Data)));
    EXPECT_EQ(values(t.view), golden::values_of(65504)) << header;
  }
}

TEST_F(Npy, ReadsVoid2AsBF16) {  // what numpy alone makes of a bf16 file it loads and saves
  const std::string header = "{'descr': '|V2', 'fortran_order': False, 'shape': (2, 3), }\n";
  const Tensor t = read_matrix(write("t.npy", npy_bytes(1, header, golden::kBF16Data)));
  EXPECT_EQ(t.view.dtype, DType::kBF16);
  EXPECT_EQ(values(t.view), golden::values_of(65536));
}

TEST_F(Npy, ReadsMatricesWithoutElements) {
  for (const std::string shape : {"(0, 3)", "(3, 0)", "(0, 9223372036854775807)"}) {
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}";
    EXPECT_TRUE(values(read_matrix(write("t.npy", npy_bytes(1, header, ""))).view).empty());
  }
}

TEST_F(Npy, RefusesOtherElementTypes) {
  const auto error = [&](const std::string& descr) {
    return error_of_header("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2, 3), }");
  };
  for (const char* descr : {"<f8", "<i4", "|i1", "<c8", "<V4", "|V1", "<V1", "<U3", "f4", ""}) {
    EXPECT_TRUE(contains(error("'"s + descr + "'"), "byte 20: element type '"s + descr + "'"));
    EXPECT_TRUE(contains(error("'"s + descr + "'"), "supported are '<f4' (f32)"));
  }
  EXPECT_TRUE(contains(error("'>f4'"), "'>f4' is big endian"));
  EXPECT_TRUE(contains(error("'>V2'"), "'>V2' is big endian"));
  EXPECT_TRUE(contains(error("'|O'"), "pickled Python objects, which are never loaded"));
  EXPECT_TRUE(contains(error("[('a', '<f4')]"), "byte 20: an array of records"));
  EXPECT_TRUE(contains(error("'\x1b[2J\n'"), "'\\x1b[2J\\x0a'"));  // no control bytes on terminals
}

TEST_F(Npy, RefusesOtherNumbersOfDimensions) {
  const auto error = [&](const std::string& shape) {
    return error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
  };
  EXPECT_TRUE(contains(error("(6,)"), "1 dimensions, [6]; a matrix [rows, cols] is needed"));
  EXPECT_TRUE(contains(error("()"), "0 dimensions, []; a matrix [rows, cols] is needed"));
  EXPECT_TRUE(contains(error("(1, 2, 3)"), "3 dimensions, [1, 2, 3]"));
  std::string many = "(";
  for (int i = 0; i < 1000; ++i) many += "1,";
  EXPECT_TRUE(contains(error(many + ")"), "more than 64 dimensions"));
}

TEST_F(Npy, RefusesSizesThatOverflow) {
  const auto error = [&](const std::string& shape) {
    return error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
  };
  EXPECT_TRUE(contains(error("(4294967296, 4294967296)"), "overflows"));
  EXPECT_TRUE(contains(error("(3037000500, 3037000500)"), "overflows"));  // elements do not fit
  EXPECT_TRUE(contains(error("(2305843009213693952, 1)"), "overflows"));  // bytes do not fit
  EXPECT_TRUE(contains(error("(9223372036854775808, 0)"), "overflows 63 bits"));
  EXPECT_TRUE(contains(error("(99999999999999999999999999, 1)"), "overflows 63 bits"));
  EXPECT_TRUE(contains(error("(1000000000, 1000000000)"), "takes 4000000000000000000 bytes"));
}

TEST_F(Npy, RefusesMalformedHeaders) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "expected '{'"},
      {"[]", "byte 10: expected '{'"},
      {"{", "expected a key in quotes, found the end"},
      {"{}", "the header has no 'descr'"},
      {"{,}", "expected a key"},
      {"{'descr': '<f4'", "expected '}'"},
      {"{'descr' '<f4'}", "expected ':'"},
      {"{'descr: <f4}", "without its closing quote"},
      {"{'descr': '<f4', 'shape': (2, 3)}", "the header has no 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "the header has no 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4'}", "byte 27: unknown or repeated key 'descr'"},
      {"{'depth': 3}", "unknown or repeated key 'depth'"},
      {"{'fortran_order': 0}", "expected True or False, found '0}'"},
      {"{'fortran_order': Falsehood}", "expected '}'"},
      {"{'shape': 3}", "expected '('"},
      {"{'shape': (3)}", "not a tuple"},
      {"{'shape': (,)}", "expected a dimension"},
      {"{'shape': (3,,4)}", "expected a dimension >= 0, found ',4)}'"},
      {"{'shape': (3 4)}", "expected ',' or ')' in the shape"},
      {"{'shape': (-1, 3)}", "expected a dimension >= 0, found '-1, 3)}'"},
      {"{'shape': (2.0, 3)}", "expected ',' or ')'"},
      {"{'shape': (0x2, 3)}", "expected ',' or ')'"},
      {"{'shape': (2, 3", "expected ',' or ')' in the shape, found the end"},
      {"{'shape': __import__('os').abort()}", "expected '('"},
      {kHeader + "{}", "text after the dict"},
      {kHeader + "\0"s, "text after the dict"},
  };
  for (const auto& [header, expected] : cases) {
    const std::string error = error_of_header(header);
    EXPECT_TRUE(contains(error, expected)) << header;
    EXPECT_TRUE(contains(error, "bad file: " + path("x.npy") + ": byte ")) << header;
  }
}

TEST_F(Npy, RefusesEveryTruncation) {
  const std::string whole = golden::kNpyF32;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(contains(error_of_file(whole.substr(0, size)), "bad file: " + path("x.npy")))
        << "cut to " << size;
  }
  EXPECT_TRUE(contains(error_of_file(whole.substr(0, 151)),
                       "byte 128: f32 [2, 3] takes 24 bytes; the file has 23"));
  EXPECT_TRUE(contains(error_of_file(whole + "x"), "takes 24 bytes; the file has 25"));
}

TEST_F(Npy, RefusesAHugeHeaderLength) {
  std::string file = golden::kNpyF32;
  file[8] = file[9] = '\xff';
  EXPECT_TRUE(contains(error_of_file(file), "byte 8: the header claims 65535 bytes"));
  file = npy_bytes(2, kHeader, golden::kF32Data);
  std::memset(file.data() + 8, 0xff, 4);
  EXPECT_TRUE(contains(error_of_file(file), "byte 8: the header claims 4294967295 bytes"));
  // Within the file, yet beyond any sense.
  EXPECT_TRUE(contains(error_of_file(npy_bytes(2, std::string(70'000, ' '), "")),
                       "more than 65536 are never read"));
}

TEST_F(Npy, RefusesWhatIsNotNpy) {
  EXPECT_TRUE(contains(error_of_file("PK\x03\x04 an .npz archive"), "byte 0: not a .npy file"));
  EXPECT_TRUE(contains(error_of_file(npy_bytes(4, kHeader, "")), "byte 6: version 4.0"));
  EXPECT_TRUE(contains(error_of_file(npy_bytes(0, kHeader, "")), "byte 6: version 0.0"));
  EXPECT_TRUE(contains(error_of_file(""), "is empty"));
}

TEST_F(Npy, RefusesWhatIsNotAReadableFile) {
  const auto error = [](const std::string& name) { return error_of([&] { read_matrix(name); }); };
  EXPECT_TRUE(contains(error(path("none.npy")), "input/output: " + path("none.npy")));
  EXPECT_TRUE(contains(error(path("none.npy")), "No such file"));

  std::filesystem::create_directory(path("folder.npy"));
  EXPECT_TRUE(contains(error(path("folder.npy")), "input/output: "));
  EXPECT_TRUE(contains(error(path("folder.npy")), "is a directory"));

  ASSERT_EQ(::mkfifo(path("fifo.npy").c_str(), 0600), 0);
  EXPECT_TRUE(contains(error(path("fifo.npy")), "is a device or pipe"));
  std::filesystem::create_symlink("/dev/zero", path("zero.npy"));
  EXPECT_TRUE(contains(error(path("zero.npy")), "is a device or pipe"));
}

TEST_F(Npy, RefusesAFileWithoutPermission) {
  const std::string name = write("x.npy", golden::kNpyF32);
  ::chmod(name.c_str(), 0);
  ::chmod(scratch_.path().c_str(), 0755);
  std::string error = "not run";
  if (!without_root([&] { error = error_of([&] { read_matrix(name); }); })) {
    GTEST_SKIP() << "cannot drop root's rights";
  }
  EXPECT_TRUE(contains(error, "input/output: " + name + ": cannot open: Permission denied"));
}

TEST_F(Npy, RefusesOtherExtensionsBeforeTouchingFiles) {
  const auto error = [](const std::string& spec) { return error_of([&] { read_matrix(spec); }); };
  EXPECT_TRUE(contains(error("x.bin"), "invalid argument: 'x.bin': unknown kind of file"));
  EXPECT_TRUE(contains(error(""), "invalid argument: '': unknown kind of file"));
  EXPECT_TRUE(contains(error("x.npy:w"), "give the path alone"));
  EXPECT_TRUE(contains(error("x.safetensors:"), "the name of a tensor is missing"));
  EXPECT_TRUE(contains(error("x\0.npy"s), "no zero byte"));
}

}  // namespace
}  // namespace cmm::files
