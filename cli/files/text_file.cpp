#include "files/text_file.hpp"

#include <span>

#include "files/output_file.hpp"

namespace cmm::files {

void write_text(const std::string& path, std::string_view text) {
  OutputFile file(path, static_cast<std::int64_t>(text.size()));
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace cmm::files
