// A trace as a file that Perfetto and chrome://tracing open.
#pragma once

#include <span>
#include <string>

#include "cmm/trace.hpp"

namespace cmm::cli {

// Trace Event Format, JSON: one process per rank, one track per thread, both named; complete
// events ("X") in microseconds from the first span's begin.
std::string trace_events_json(std::span<const Span> spans);

}  // namespace cmm::cli
