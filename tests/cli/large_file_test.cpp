// Files above 2 GiB: the kernel moves at most 2^31 - 4096 bytes in one call, so that only here do
// reading and writing take more than one.
#include <gtest/gtest.h>

#include "cli/files_support.hpp"
#include "files/matrix_writer.hpp"
#include "files/read_matrix.hpp"

namespace cmm::files {
namespace {

class LargeFile : public InTemporaryFolder {};

TEST_F(LargeFile, IsReadAndWrittenWhole) {
  constexpr std::int64_t kRows = 2, kCols = (std::int64_t{1} << 28) + 1024;  // f32: 2 GiB + 8 KiB
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 268436480)}";
  const std::string file = write("x.npy", npy_bytes(1, header, ""));
  // Sparse but for marks: the first element, the last, and two beside byte 2^31 of the data.
  const std::int64_t data_offset = static_cast<std::int64_t>(std::filesystem::file_size(file));
  const std::vector<std::int64_t> marks = {0, (std::int64_t{1} << 29) - 1024, std::int64_t{1} << 29,
                                           kRows * kCols - 1};
  std::filesystem::resize_file(file, data_offset + 4 * kRows * kCols);
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  for (const std::int64_t mark : marks) {
    const auto value = static_cast<float>(mark + 1);
    out.seekp(data_offset + 4 * mark);
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  out.close();
  ASSERT_TRUE(out);

  const auto expect_marks = [&](const Tensor& t) {
    std::int64_t num_nonzero = 0;
    const auto* data = static_cast<const float*>(t.view.data);
    for (std::int64_t i = 0; i < kRows * kCols; ++i) num_nonzero += data[i] != 0 ? 1 : 0;
    EXPECT_EQ(num_nonzero, static_cast<std::int64_t>(marks.size()));
    for (const std::int64_t mark : marks) EXPECT_EQ(data[mark], static_cast<float>(mark + 1));
  };
  {
    const Tensor t = read_matrix(file);
    expect_marks(t);
    MatrixWriter writer(path("o.safetensors"), DType::kF32, kRows, kCols);
    writer.write_rows({t.view.data, DType::kF32, kRows, kCols, kCols});
    writer.commit();
  }
  expect_marks(read_matrix(path("o.safetensors")));
}

}  // namespace
}  // namespace cmm::files
