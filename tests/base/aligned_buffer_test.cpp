#include "base/aligned_buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "cmm/error.hpp"

namespace cmm::test {
namespace {

TEST(AlignedBuffer, IsAlignedAndWritable) {
  for (std::int64_t bytes : {1, 63, 64, 65, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1}) {
    AlignedBuffer buffer(bytes);
    EXPECT_EQ(buffer.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    std::memset(buffer.data(), 1, static_cast<std::size_t>(bytes));
  }
}

TEST(AlignedBuffer, OfNothingHoldsNothing) {
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
  EXPECT_EQ(AlignedBuffer(0).bytes(), 0);
}

TEST(AlignedBuffer, Moves) {
  AlignedBuffer first(100);
  const std::byte* data = first.data();
  const AlignedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.bytes(), 100);
}

// -1 is what checked_product gives on overflow: it must not become an allocation.
TEST(AlignedBuffer, RefusesImpossibleSizes) {
  for (std::int64_t bytes : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                             std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62}) {
    try {
      AlignedBuffer buffer(bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
      if (bytes > 0) {
        EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace cmm::test
