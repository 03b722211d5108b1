#include "tpu/aot/refusal.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "base/text.hpp"

namespace cmm::tpu::aot {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The first line of the body that the message points at: loc("-":LINE:COLUMN), or -:LINE:COLUMN
// where the body is no Mosaic.
std::optional<int> line_of(const std::string& message) {
  for (const std::string_view mark : {"loc(\"-\":", "-:"}) {
    for (std::size_t at = message.find(mark); at != std::string::npos;
         at = message.find(mark, at + 1)) {
      int line = 0;
      const char* const begin = message.data() + at + mark.size();
      const auto [end, failed] = std::from_chars(begin, message.data() + message.size(), line);
      if (failed == std::errc() && *end == ':' && line > 0) return line;
    }
  }
  return std::nullopt;
}

std::string line_text(const emit::MosaicText& body, int line) {
  std::size_t begin = 0;
  for (int i = 1; i < line && begin != std::string::npos; ++i) {
    begin = body.text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos || begin >= body.text.size()) return "";
  std::string text = body.text.substr(begin, body.text.find('\n', begin) - begin);
  text.erase(0, text.find_first_not_of(' '));
  // Types and attributes make a line long; its operation and operands tell it apart.
  constexpr std::size_t kMost = 120;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

// " At line 12 of the body (what it is for): %3 = ..."
std::string place(const std::string& message, const Program& program,
                  const emit::MosaicText& body) {
  const std::optional<int> line = line_of(message);
  if (!line || *line > static_cast<int>(body.notes_of_lines.size())) return "";
  const int note = body.notes_of_lines[static_cast<std::size_t>(*line - 1)];
  return cat(" At line ", *line, " of the body",
             note < 0 ? "" : cat(" (", program.notes[static_cast<std::size_t>(note)], ")"), ": ",
             line_text(body, *line), ".");
}

// libtpu's text without the stack of sources and operations that follows it.
std::string first_part(std::string message) {
  for (const std::string_view end :
       {"\nThe MLIR operation involved", "\n=== Source Location Trace", "\n\nThe MLIR",
        "\nAdditional diagnostics", "\nLargest program allocations"}) {
    message = message.substr(0, message.find(end));
  }
  for (char& each : message) {
    if (each == '\n') each = ' ';
  }
  constexpr std::size_t kMost = 600;
  if (message.size() > kMost) message = message.substr(0, kMost) + " ...";
  while (!message.empty() && message.back() == ' ') message.pop_back();
  return message;
}

struct Advice {
  std::string_view mark;  // in libtpu's message
  ErrorCode code;
  std::string text;
};

}  // namespace

Error refusal(const Message& reply, const Program& program, const emit::MosaicText& body,
              const Chip& chip, const std::string& topology) {
  const std::string& message = reply.at(field::kError);
  const std::string& stage = reply.at(field::kErrorStage);
  if (stage == "load") {
    return Error(ErrorCode::kUnsupported, cat("libtpu cannot be used: ", first_part(message)));
  }
  if (stage == "topology") {
    return Error(ErrorCode::kInvalidArgument,
                 cat("libtpu knows no slice ", topology, ": ", first_part(message),
                     ". Slices have whole hosts of 2 x 2 chips; another version of libtpu may know "
                     "other chips"));
  }
  const std::int64_t needed = vmem_bytes(program, chip);
  const std::string vmem = cat("the kernel's buffers take ", needed, " bytes of VMEM, ", chip.name,
                               " has ", chip.vmem_bytes,
                               ", and the compiler needs some for itself; give smaller tiles or "
                               "fewer slots");
  const std::string smem = "the table of steps does not fit into SMEM; give larger tiles";
  const std::string semaphores =
      "there are too many semaphores; give larger pieces or fewer x slots";
  const std::array<Advice, 10> all = {{
      {"scoped vmem limit", ErrorCode::kOutOfMemory, vmem},
      {"memory space vmem", ErrorCode::kOutOfMemory, vmem},
      {"space=vmem", ErrorCode::kOutOfMemory, vmem},
      {"memory space smem", ErrorCode::kOutOfMemory, smem},
      {"space=smem", ErrorCode::kOutOfMemory, smem},
      {"memory space sflag", ErrorCode::kOutOfMemory, semaphores},
      {"space=sflag", ErrorCode::kOutOfMemory, semaphores},
      {"must be aligned to til", ErrorCode::kUnsupported,
       "the slice begins or ends inside of a tile of the chip; block sizes must be multiples of "
       "128 "
       "columns and of the rows of a tile of this type"},
      {"UnprovenMemoryAccessAlignment", ErrorCode::kUnsupported,
       "a vector begins inside of a tile of the chip; block sizes must be multiples of 128 columns "
       "and of the rows of a tile of this type"},
      {"Unsupported version", ErrorCode::kUnsupported,
       "this libtpu is older than the version of Mosaic that was asked for"},
  }};
  for (const Advice& advice : all) {
    if (!has(message, advice.mark)) continue;
    return Error(advice.code, cat("libtpu refuses the kernel ", program.name, " for ", topology,
                                  ": ", advice.text, ".", place(message, program, body),
                                  " libtpu says: ", first_part(message)));
  }
  return Error(ErrorCode::kUnsupported,
               cat("libtpu refuses the kernel ", program.name, " for ", topology, ".",
                   place(message, program, body), " libtpu says: ", first_part(message)));
}

}  // namespace cmm::tpu::aot
