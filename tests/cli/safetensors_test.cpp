// Reading .safetensors: tensors are found by name, and every way a file can be wrong is told.
#include <gtest/gtest.h>

#include "cli/files_support.hpp"
#include "cli/golden_files.hpp"
#include "files/read_matrix.hpp"
#include "files/safetensors_header.hpp"

namespace cmm::files {
namespace {
using namespace std::string_literals;

class Safetensors : public InTemporaryFolder {
 protected:
  std::string error_of_file(const std::string& content, const std::string& tensor = ":w") const {
    return error_of([&] { read_matrix(write("x.safetensors", content) + tensor); });
  }
  std::string error_of_header(const std::string& header) const {
    return error_of_file(safetensors_bytes(header, golden::kF32Data));
  }
  // A tensor "w" with these fields beside its dtype.
  std::string error_of_fields(const std::string& fields) const {
    return error_of_header(R"({"w":{"dtype":"F32",)" + fields + "}}");
  }
};

TEST_F(Safetensors, ReadsWhatOthersWrite) {
  const std::string file = write("x.safetensors", golden::kSafetensors);
  const Tensor f32 = read_matrix(file + ":w");
  EXPECT_EQ(f32.view.dtype, DType::kF32);
  EXPECT_EQ(f32.view.rows, 2);
  EXPECT_EQ(f32.view.cols, 3);
  EXPECT_EQ(values(f32.view), golden::values_of(65504));
  EXPECT_EQ(f32.description, "f32 [2, 3] of " + file + ":w");
  const Tensor bf16 = read_matrix(file + ":b");
  EXPECT_EQ(bf16.view.dtype, DType::kBF16);
  EXPECT_EQ(values(bf16.view), golden::values_of(65536));
  const Tensor f16 = read_matrix(file + ":h");
  EXPECT_EQ(f16.view.dtype, DType::kF16);
  EXPECT_EQ(values(f16.view), golden::values_of(65504));
}

TEST_F(Safetensors, NeedsNoNameForASingleTensor) {
  const Tensor t = read_matrix(write("x.safetensors", golden::kSafetensorsOut));
  EXPECT_EQ(values(t.view), golden::values_of(65504));
}

TEST_F(Safetensors, ReadsDataThatIsNotAligned) {  // one byte of another tensor goes before
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[1,25]}})";
  const Tensor t =
      read_matrix(write("x.safetensors", safetensors_bytes(header, "x" + golden::kF32Data)) + ":w");
  EXPECT_EQ(values(t.view), golden::values_of(65504));
}

TEST_F(Safetensors, ReadsNamesWithColonsAndEscapes) {
  const std::string header =
      R"({"a:\u0062\"":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  const std::string file =
      write("odd:name.safetensors", safetensors_bytes(header, golden::kF32Data));
  EXPECT_EQ(values(read_matrix(file + ":a:b\"").view), golden::values_of(65504));
}

TEST_F(Safetensors, AsksForANameAndOffersTheNearest) {
  EXPECT_TRUE(contains(error_of_file(golden::kSafetensors, ""),
                       "invalid argument: " + path("x.safetensors") + ": holds 3 tensors"));
  EXPECT_TRUE(contains(error_of_file(golden::kSafetensors, ""), "'b', 'h', 'w'"));

  std::string header = "{";
  for (int i = 0; i < 20; ++i) {
    header += "\"layer." + std::to_string(i) +
              ".weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},";
  }
  header += R"("embedding":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  const std::string file = safetensors_bytes(header, golden::kF32Data);
  EXPECT_TRUE(contains(error_of_file(file, ""), "holds 21 tensors"));
  EXPECT_TRUE(contains(error_of_file(file, ""), ", ..."));
  EXPECT_TRUE(contains(error_of_file(file, ":layer.17.wieght"),
                       "no tensor 'layer.17.wieght' among its 21; nearest are 'layer.17.weight'"));
  EXPECT_TRUE(contains(error_of_file(file, ":embed"), "nearest are 'embedding'"));

  // A part of a long name is asked for more often than a short name is mistyped by as much.
  const std::string long_name =
      R"({"bias":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("layer.0.dense.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  EXPECT_TRUE(contains(error_of_file(safetensors_bytes(long_name, golden::kF32Data), ":dense"),
                       "nearest are 'layer.0.dense.weight', 'bias'"));
}

TEST_F(Safetensors, RefusesOtherElementTypes) {
  for (const char* dtype : {"F64", "I32", "F8_E4M3", "BOOL", "f32", ""}) {
    const std::string error = error_of_header(R"({"w":{"dtype":")"s + dtype +
                                              R"(","shape":[2,3],"data_offsets":[0,24]}})");
    EXPECT_TRUE(contains(error, "bad file: "));
    EXPECT_TRUE(contains(error, "tensor 'w' has element type '"s + dtype + "'"));
  }
}

TEST_F(Safetensors, RefusesOtherNumbersOfDimensions) {
  EXPECT_TRUE(contains(error_of_fields(R"("shape":[6],"data_offsets":[0,24])"),
                       "1 dimensions, [6]; a matrix [rows, cols] is needed"));
  EXPECT_TRUE(contains(error_of_fields(R"("shape":[],"data_offsets":[0,4])"), "0 dimensions"));
  std::string many = "1";
  for (int i = 0; i < 1000; ++i) many += ",1";
  EXPECT_TRUE(contains(error_of_fields(R"("shape":[)" + many + R"(],"data_offsets":[0,24])"),
                       "a longer list"));
}

TEST_F(Safetensors, RefusesOffsetsAndSizesThatDoNotFit) {
  const auto error = [&](const std::string& shape, const std::string& offsets) {
    return error_of_fields("\"shape\":" + shape + ",\"data_offsets\":" + offsets);
  };
  EXPECT_TRUE(contains(error("[2,3]", "[0,25]"), "[0, 25] do not lie in the 24 bytes"));
  EXPECT_TRUE(contains(error("[2,3]", "[24,0]"), "[24, 0] do not lie in"));
  EXPECT_TRUE(contains(error("[2,3]", "[9223372036854775807,9223372036854775807]"), "do not lie"));
  EXPECT_TRUE(contains(error("[2,3]", "[18446744073709551615,3]"), "does not belong here"));
  EXPECT_TRUE(contains(error("[2,3]", "[0,36893488147419103232]"), "does not belong here"));
  EXPECT_TRUE(contains(error("[2,3]", "[0,20]"), "takes 24 bytes, but data_offsets [0, 20]"));
  EXPECT_TRUE(contains(error("[2,2]", "[0,24]"), "takes 16 bytes, but data_offsets [0, 24]"));
  EXPECT_TRUE(contains(error("[4294967296,4294967296]", "[0,0]"), "overflows"));
  EXPECT_TRUE(contains(error("[2305843009213693952,2]", "[0,0]"), "overflows"));
  EXPECT_TRUE(contains(error("[-2,3]", "[0,24]"), "-2 does not belong here"));
  EXPECT_TRUE(contains(error("[2.0,3]", "[0,24]"), "'2.0' does not belong here"));
  EXPECT_TRUE(contains(error("[2,3]", "[0]"), "data_offsets is not [begin, end]"));
  EXPECT_TRUE(contains(error("[2,3]", "[0,24,24]"), "a longer list"));
}

TEST_F(Safetensors, RefusesMalformedHeaders) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "byte 9: the header is not JSON"},
      {"{", "the header is not JSON"},
      {"{}x", "byte 11: the header is not JSON"},
      {"{'w':1}", "byte 10: the header is not JSON"},
      {"{\"w\xff\":1}", "the header is not JSON"},
      {"[]", "byte 8: the header is not a JSON object"},
      {"3", "byte 8: the header is not a JSON object"},
      {"{}", "holds no tensor"},
      {R"({"__metadata__":{"format":"pt"}})", "holds no tensor"},
      {R"({"w":3})", "entry 'w': 3 does not belong here"},
      {R"({"w":[1]})", "a list does not belong here"},
      {R"({"w":{}})", "lacks one of dtype, shape and data_offsets"},
      {R"({"w":{"dtype":3}})", "3 does not belong here"},
      {R"({"w":{"dtype":[]}})", "a list does not belong here"},
      {R"({"w":{"dtype":null}})", "null does not belong here"},
      {R"({"w":{"dtype":true}})", "a boolean does not belong here"},
      {R"({"w":{"dtype":{}}})", "an object does not belong here"},
      {R"({"w":{"shape":"x"}})", "'x' does not belong here"},
      {R"({"w":{"shape":[[]]}})", "a list does not belong here"},
      {R"({"w":{"shape":[{}]}})", "an object does not belong here"},
      {R"({"w":{"shape":["x"]}})", "'x' does not belong here"},
      {R"({"w":{"color":3}})", "unknown or repeated field 'color'"},
      {R"({"w":{"dtype":"F32","dtype":"F32"}})", "unknown or repeated field 'dtype'"},
      {R"({"__metadata__":3})", "3 does not belong here"},
      {R"({"__metadata__":{"a":{}}})", "an object does not belong here"},
      {R"({"__metadata__":{},"__metadata__":{}})", "stands twice"},
      {R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"w":{}})", "stands twice"},
      {std::string(100'000, '['), "not a JSON object"},
      {R"({"w":{"shape":)" + std::string(100'000, '['), "a list does not belong here"},
  };
  for (const auto& [header, expected] : cases) {
    const std::string error = error_of_header(header);
    EXPECT_TRUE(contains(error, expected)) << header.substr(0, 80);
    EXPECT_TRUE(contains(error, "bad file: " + path("x.safetensors"))) << header.substr(0, 80);
  }
}

TEST_F(Safetensors, RefusesEveryTruncation) {
  const std::string whole = golden::kSafetensorsOut;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(
        contains(error_of_file(whole.substr(0, size), ""), "bad file: " + path("x.safetensors")))
        << "cut to " << size;
  }
}

TEST_F(Safetensors, RefusesAHugeHeaderLength) {
  for (const std::size_t byte : {3, 4, 7}) {
    std::string file = golden::kSafetensorsOut;
    file[byte] = '\xff';
    EXPECT_TRUE(contains(error_of_file(file), "byte 0: the header claims ")) << byte;
  }
  // Within the file (a sparse one), yet above the format's limit.
  std::string file = golden::kSafetensorsOut;
  const std::uint64_t length = 100'000'001;
  for (int i = 0; i < 8; ++i) file[i] = static_cast<char>(length >> (8 * i) & 0xff);
  const std::string name = write("big.safetensors", file);
  std::filesystem::resize_file(name, 200'000'000);
  EXPECT_TRUE(contains(error_of([&] { read_matrix(name); }), "the format allows 100000000"));
}

}  // namespace
}  // namespace cmm::files
