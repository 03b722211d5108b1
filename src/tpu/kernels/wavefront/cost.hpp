// What the wavefront kernel computes and moves, on one device.
#pragma once

#include "schedule/tiles.hpp"
#include "tpu/kernels/wavefront.hpp"

namespace cmm::tpu::wavefront {

// Flops of the extents asked for, bytes of what is moved, with the padding that moves along.
Cost cost(const schedule::TileSchedule& schedule, const WavefrontOptions& options);

}  // namespace cmm::tpu::wavefront
