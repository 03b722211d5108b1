// Limits of a process that a test sets, and those that a sanitizer does not live with.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>

namespace cmm::test {

#ifdef CMM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Of this process, which is one of the test's own.
inline void set_limit(decltype(RLIMIT_AS) resource, std::int64_t value) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = static_cast<rlim_t>(value);
  ASSERT_EQ(setrlimit(resource, &limit), 0);
}

}  // namespace cmm::test
