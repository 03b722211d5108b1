#include "tpu/aot/message.hpp"

#include <cstdint>
#include <cstring>

namespace cmm::tpu::aot {
namespace {

// Both sides run on one machine: numbers have its byte order.
constexpr std::string_view kEnd = "end of message";

void put(std::string& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
}

bool take(std::string_view& bytes, std::string& text) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof size) return false;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (bytes.size() < size) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

std::string encode(const Message& message) {
  std::string bytes;
  for (const auto& [name, value] : message) {
    put(bytes, name);
    put(bytes, value);
  }
  put(bytes, kEnd);
  return bytes;
}

std::optional<Message> decode(std::string_view bytes) {
  Message message;
  std::string name, value;
  while (take(bytes, name)) {
    if (name == kEnd) return bytes.empty() ? std::optional(message) : std::nullopt;
    if (!take(bytes, value)) return std::nullopt;
    message[name] = value;
  }
  return std::nullopt;
}

}  // namespace cmm::tpu::aot
