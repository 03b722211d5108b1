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
// adds to it. More than the chip has where the scratch does not fit.
std::int64_t scoped_vmem_bytes(const Program& program, const Chip& chip);

std::string base64(std::string_view bytes);

}  // namespace cmm::tpu::emit
