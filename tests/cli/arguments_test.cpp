#include "arguments.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "cmm/error.hpp"

namespace cmm::cli {
namespace {

using Rows = std::vector<std::int64_t>;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(ParseInt, TakesWholeNumbersInRange) {
  EXPECT_EQ(parse_int("--m", "0", {}), 0);
  EXPECT_EQ(parse_int("--m", "9223372036854775807", {}), kMax);
  EXPECT_EQ(parse_int("--m", "-3", {-3, 3}), -3);
}

TEST(ParseDecimal, TakesNumbersInRange) {
  const DecimalRange range = {.min = 0.25, .max = 1e6};
  EXPECT_EQ(parse_decimal("--x", "0.25", range), 0.25);
  EXPECT_EQ(parse_decimal("--x", "1e6", range), 1e6);
  EXPECT_EQ(parse_decimal("--x", "10", range), 10);
  for (const char* word : {"", "x", "1x", " 1", "0.2", "1e7", "nan", "inf", "1e999", "-1"}) {
    EXPECT_EQ(refusal([&] { parse_decimal("--x", word, range); }),
              "--x is '" + std::string(word) + "'; give a number from 0.25 to 1e+06");
  }
}

TEST(ParseInt, NamesTheOptionTheWordAndTheRange) {
  for (const char* word : {"", " 3", "3 ", "3x", "x", "1e3", "0x10", "4.0", "-1", "+1", "--k", "8",
                           "9223372036854775808"}) {
    const std::string message = refusal([&] { parse_int("--m", word, {0, 7}); });
    EXPECT_EQ(message, "--m is '" + std::string(word) + "'; give a whole number from 0 to 7");
  }
  EXPECT_EQ(refusal([] { parse_int("--m", "-1", {}); }),
            "--m is '-1'; give a whole number from 0 on");
}

TEST(ParseInt, KeepsItsMessageOnOneShortLine) {
  const std::string message =
      refusal([] { parse_int("--m", "1\n\x1b" + std::string(500, '9'), {}); });
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.size(), 150u);
}

TEST(ParseSeed, TakesAll64Bits) {
  EXPECT_EQ(parse_seed("--seed", "18446744073709551615"), 18446744073709551615u);
  EXPECT_NE(refusal([] { parse_seed("--seed", "18446744073709551616"); }), "accepted");
  EXPECT_NE(refusal([] { parse_seed("--seed", "-1"); }), "accepted");
}

TEST(ParseRows, TakesOneNumberPerRank) {
  EXPECT_EQ(parse_rows("--rows", "3,0,5"), (Rows{3, 0, 5}));
  EXPECT_EQ(parse_rows("--rows", "0"), (Rows{0}));
  EXPECT_EQ(parse_rows("--rows", "9223372036854775806,1"), (Rows{kMax - 1, 1}));
}

TEST(ParseRows, NamesThePlaceOfWhatIsNoNumber) {
  EXPECT_NE(refusal([] { parse_rows("--rows", "3,x,5"); }).find("has 'x' at place 2"),
            std::string::npos);
  for (const char* list :
       {"", ",", "3,", ",3", "3,,5", "3, 5", "3;5", "-1", "3,-1", "1.5", "3,0x5"}) {
    EXPECT_NE(refusal([&] { parse_rows("--rows", list); }).find("as in 3,0,5"), std::string::npos)
        << list;
  }
}

TEST(ParseRows, RefusesSumsAndCountsThatAreTooLarge) {
  EXPECT_NE(refusal([] { parse_rows("--rows", "9223372036854775807,1"); }).find("sums to more"),
            std::string::npos);
  std::string list = "1";
  for (int i = 1; i < kMaxRanks; ++i) list += ",1";
  EXPECT_EQ(parse_rows("--rows", list).size(), static_cast<std::size_t>(kMaxRanks));
  EXPECT_NE(refusal([&] { parse_rows("--rows", list + ",1"); }).find("more than 4096 entries"),
            std::string::npos);
}

TEST(EvenShare, CoversTheTotalInOrderWithTheLargerPartsFirst) {
  for (std::int64_t total : {0, 1, 7, 8, 9, 100}) {
    for (std::int64_t parts : {1, 2, 3, 8}) {
      std::int64_t at = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Share share = even_share(total, parts, part);
        EXPECT_EQ(share.begin, at);
        EXPECT_EQ(share.size, total / parts + (part < total % parts ? 1 : 0));
        at += share.size;
      }
      EXPECT_EQ(at, total);
    }
  }
}

TEST(Saturating, StopsAtTheLargestNumber) {
  EXPECT_EQ(saturating_product(3, 4), 12);
  EXPECT_EQ(saturating_product(0, kMax), 0);
  EXPECT_EQ(saturating_product(kMax, 0), 0);
  EXPECT_EQ(saturating_product(std::int64_t{1} << 32, std::int64_t{1} << 31), kMax);
  EXPECT_EQ(saturating_sum(kMax, 1), kMax);
  EXPECT_EQ(saturating_sum(kMax - 1, 1), kMax);
  EXPECT_EQ(saturating_sum(1, 2), 3);
}

}  // namespace
}  // namespace cmm::cli
