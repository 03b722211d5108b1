// The call of a kernel as XLA sees it: the body and what libtpu must know beside it.
#pragma once

#include <cstdint>
#include <string>

#include "tpu/emit/mosaic.hpp"
#include "tpu/program.hpp"

namespace cmm::tpu::emit {

enum class BodyForm { kText, kBytecode };

struct BodyOptions {
  int version = kDefaultVersion;
  BodyForm form = BodyForm::kText;
};

struct CustomCall {
  MosaicText body;     // to be read, and to lead errors back, whatever the form
  std::string config;  // the call's backend_config, in JSON, with the body in base64
};
// Throws as to_mosaic() does.
CustomCall custom_call(const Program& program, const Chip& chip, const BodyOptions& options);

// VMEM that the kernel asks XLA to keep for it, of one core: all scratch, and what the compiler
// adds to it, which is room for the registers that it spills. libtpu 0.0.52 was seen to spill, in
// MiB: 1.1 for sums [256, 1024] (1 MiB) on v6e, 2.1 with k = 4096, 2.4 for [1024, 512] on v5p, 8.4
// for [512, 7168] (14 MiB): less than the largest vector of sums and 4 MiB. What is asked for and
// not used is lost to XLA only while the kernel runs. Never more than the chip has, unless the
// scratch alone is.
std::int64_t scoped_vmem_bytes(const Program& program, const Chip& chip);

std::string base64(std::string_view bytes);

}  // namespace cmm::tpu::emit
