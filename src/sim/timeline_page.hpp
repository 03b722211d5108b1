// The fixed parts of the page that timeline_html() writes, in the order in which they stand there.
#pragma once

#include <string_view>

namespace cmm::sim {

// Before: nothing. After it: the title, as text of <title>.
extern const std::string_view kPageHead;
// After it: heading, figures, legend.
extern const std::string_view kPageStyle;
// After it: the data, a JSON object; see data_of() in timeline_html.cpp.
extern const std::string_view kPageCanvas;
// Draws the data. The number of spans drawn last stands in `data-drawn` of the canvas.
extern const std::string_view kPageScript;

}  // namespace cmm::sim
