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
  // Checks at run time that copies lie inside of their buffers, some 20 cycles each, in series with
  // the product. Kernels are made of schedules that are proved, so there is nothing to find.
  bool bounds_checks = false;
};

struct CustomCall {
  MosaicText body;     // to be read, and to lead errors back, whatever the form
  std::string config;  // the call's backend_config, in JSON, with the body in base64
};
// Throws as to_mosaic() does.
CustomCall custom_call(const Program& program, const Chip& chip, const BodyOptions& options);

// VMEM that the kernel asks XLA to keep for it, of one core: all scratch, and what the compiler
// adds to it, which is room for the registers that it spills. These hold the left operand of one
// product, which the compiler reads once and keeps: of libtpu 0.0.52 between nothing and, on
// v4, 1.4 times that operand were seen, 8.4 MiB for 512 x 8192 in bf16 (8 MiB). 0.0.24 keeps a
// transposed right operand, too. Asked for is room for a copy and a quarter of the largest such
// operands, one of the largest sums, and 1 MiB. What is asked for and not used is lost to XLA only
// while the kernel runs. Never more than the chip has, unless the scratch alone is.
std::int64_t scoped_vmem_bytes(const Program& program, const Chip& chip);

std::string base64(std::string_view bytes);

}  // namespace cmm::tpu::emit
