// A text as a file that appears under its name only when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace cmm::files {

// Throws Error(kIo) as OutputFile does.
void write_text(const std::string& path, std::string_view text);

}  // namespace cmm::files
