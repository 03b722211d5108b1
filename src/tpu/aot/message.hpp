// What a compiling process and its worker tell each other: named strings of bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cmm::tpu::aot {

using Message = std::map<std::string, std::string>;

std::string encode(const Message& message);
// Nothing where the bytes are not those of a whole message: the other side was ended.
std::optional<Message> decode(std::string_view bytes);

// Names that both sides use.
namespace field {
// Of a request.
inline constexpr const char* kLibtpu = "libtpu";      // path
inline constexpr const char* kTopology = "topology";  // name of a slice
inline constexpr const char* kModule = "module";      // StableHLO text
inline constexpr const char* kWrapper = "wrapper";    // of the module, as a number
// Of each device of the mesh a line: its place, or its number.
inline constexpr const char* kPlaces = "places";    // "x y z core"
inline constexpr const char* kNumbers = "numbers";  // of the slice's devices
// Of a reply: the error's text and code, or the rest.
inline constexpr const char* kError = "error";
inline constexpr const char* kErrorCode = "error code";
inline constexpr const char* kErrorStage = "error stage";  // "load", "topology", "compile"
inline constexpr const char* kVersion = "version";
// kPlaces and kNumbers, both.
inline constexpr const char* kFingerprint = "fingerprint";
inline constexpr const char* kExecutable = "executable";
inline constexpr const char* kCodeBytes = "code bytes";
inline constexpr const char* kArgumentBytes = "argument bytes";
inline constexpr const char* kOutputBytes = "output bytes";
inline constexpr const char* kTemporaryBytes = "temporary bytes";
inline constexpr const char* kCompileSeconds = "compile seconds";
}  // namespace field

}  // namespace cmm::tpu::aot
