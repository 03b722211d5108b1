// A library in libtpu's place that fails as FAKE_LIBTPU in the environment says.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tpu/aot/pjrt.hpp"

extern "C" const cmm::tpu::aot::pjrt::Api* GetPjrtApi() {
  const char* const value = std::getenv("FAKE_LIBTPU");
  const std::string fault = value == nullptr ? "" : value;
  std::puts("chatter on standard output");
  if (fault == "abort") {
    std::fputs(
        "F0000 fake.cc:1] Check failed: custom barrier\n*** Check failure stack trace: ***\n",
        stderr);
    std::abort();
  }
  if (fault == "exit") {
    std::fputs("ERROR: Unknown command line flag 'xla_bogus'\n", stderr);
    std::exit(1);
  }
  if (fault == "flags") {
    std::fprintf(stderr, "LIBTPU_INIT_ARGS is %s.\n", std::getenv("LIBTPU_INIT_ARGS"));
    std::exit(1);
  }
  if (fault == "hang") pause();
  static const cmm::tpu::aot::pjrt::Api old = {.head = {sizeof(cmm::tpu::aot::pjrt::Api), nullptr},
                                               .version = {.head = {}, .major = 0, .minor = 12},
                                               .functions = {}};
  return &old;
}
