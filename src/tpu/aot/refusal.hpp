// What libtpu says of a kernel it does not take, in our words.
#pragma once

#include <string>

#include "cmm/error.hpp"
#include "tpu/aot/message.hpp"
#include "tpu/emit/mosaic.hpp"
#include "tpu/program.hpp"

namespace cmm::tpu::aot {

// `reply` has an error.
Error refusal(const Message& reply, const Program& program, const emit::MosaicText& body,
              const Chip& chip, const std::string& topology);

}  // namespace cmm::tpu::aot
