// cmm-tpu-compile: reads a request from its standard input, compiles with libtpu, and writes a
// reply to its standard output. A process of its own because libtpu reads its settings once, and
// can end the process it is in.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "tpu/aot/compile_options.hpp"
#include "tpu/aot/message.hpp"
#include "tpu/aot/plugin.hpp"

namespace cmm::tpu::aot {
namespace {

constexpr int kInvalidArgument = 3;  // as PJRT numbers errors

std::string read_all(int descriptor) {
  std::string bytes;
  char buffer[1 << 16];
  for (ssize_t size = 0; (size = read(descriptor, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<std::size_t>(size));
  }
  return bytes;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(descriptor, bytes.data(), bytes.size());
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

std::vector<int> numbers_in(const std::string& lines) {
  std::istringstream in(lines);
  return {std::istream_iterator<int>(in), std::istream_iterator<int>()};
}

// The slice's devices that the mesh is made of: their numbers and places, asked for by one of them.
struct Assignment {
  std::vector<int> numbers;
  std::vector<DeviceAt> places;
};
Assignment assignment_of(const Message& request, const std::vector<DeviceAt>& devices) {
  Assignment all;
  if (const auto given = request.find(field::kNumbers); given != request.end()) {
    all.numbers = numbers_in(given->second);
    for (const int number : all.numbers) {
      if (number < 0 || number >= static_cast<int>(devices.size())) {
        throw PluginError{kInvalidArgument, cat("it has ", devices.size(), " devices")};
      }
      all.places.push_back(devices[static_cast<std::size_t>(number)]);
    }
    return all;
  }
  all.places = places_in(request.at(field::kPlaces));
  for (const DeviceAt& place : all.places) {
    const auto found = std::find(devices.begin(), devices.end(), place);
    if (found == devices.end()) {
      throw PluginError{kInvalidArgument, cat("it has no device at ", places_text({place}))};
    }
    all.numbers.push_back(static_cast<int>(found - devices.begin()));
  }
  return all;
}

Message answer(const Message& request) {
  Message reply;
  std::string stage = "load";
  try {
    Plugin plugin(request.at(field::kLibtpu));
    stage = "topology";
    plugin.set_topology(request.at(field::kTopology));
    reply[field::kVersion] = plugin.version();
    const Assignment assignment = assignment_of(request, plugin.devices());
    reply[field::kPlaces] = places_text(assignment.places);
    for (const int number : assignment.numbers) reply[field::kNumbers] += cat(number, "\n");
    stage = "compile";
    const auto begin = std::chrono::steady_clock::now();
    const auto wrapper = static_cast<emit::Wrapper>(numbers_in(request.at(field::kWrapper))[0]);
    const Plugin::Compiled compiled =
        plugin.compile(request.at(field::kModule), compile_options(wrapper, assignment.numbers));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    reply[field::kCompileSeconds] = cat(seconds.count());
    reply[field::kFingerprint] = compiled.fingerprint;
    reply[field::kExecutable] = compiled.executable;
    reply[field::kCodeBytes] = cat(compiled.code_bytes);
    reply[field::kArgumentBytes] = cat(compiled.argument_bytes);
    reply[field::kOutputBytes] = cat(compiled.output_bytes);
    reply[field::kTemporaryBytes] = cat(compiled.temporary_bytes);
  } catch (const PluginError& error) {
    reply[field::kError] = error.message;
    reply[field::kErrorCode] = cat(error.code);
    reply[field::kErrorStage] = stage;
  }
  return reply;
}

int run() {
  // Ended with the process that asked, which would not read the reply.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What libtpu prints is no reply.
  const int reply_to = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);

  const std::optional<Message> request = decode(read_all(STDIN_FILENO));
  if (!request) {
    constexpr std::string_view kHelp =
        "cmm-tpu-compile is started by the library collective-matmul to compile TPU kernels;\n"
        "`cmm tpu compile` is the command for people.\n";
    write_all(STDERR_FILENO, kHelp);
    return 2;
  }
  return write_all(reply_to, encode(answer(*request))) ? 0 : 1;
}

}  // namespace
}  // namespace cmm::tpu::aot

// _exit: the destructors of libtpu have nothing to do here.
int main() { _exit(cmm::tpu::aot::run()); }
