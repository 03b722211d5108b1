#include "tpu/aot/compile.hpp"

#include <chrono>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "tpu/aot/compile_options.hpp"
#include "tpu/aot/refusal.hpp"
#include "tpu/aot/worker.hpp"

namespace cmm::tpu::aot {
namespace {

std::string one_line(std::string text) {
  for (char& each : text) {
    if (each == '\n') each = ' ';
  }
  return text;
}

// Arrays of semaphores by what the program does with them.
struct Synchronisation {
  std::set<int> signalled, awaited;  // by copies
  bool sends = false;                // to other devices
  bool awaits_entry = false;         // of the neighbours, by the barrier semaphore
};
Synchronisation synchronisation_of(const Program& program) {
  Synchronisation found;
  for_each_statement(program.body, [&](const Statement& statement, int) {
    if (const auto* copy = std::get_if<StartCopy>(&statement.what)) {
      found.signalled.insert(copy->arrival.array);
      if (copy->remote) found.signalled.insert(copy->remote->departure.array);
      found.sends = found.sends || copy->remote.has_value();
    }
    if (const auto* await = std::get_if<AwaitCopy>(&statement.what)) {
      found.awaited.insert(await->semaphore.array);
    }
    if (const auto* await = std::get_if<Await>(&statement.what)) {
      const auto array = static_cast<std::size_t>(await->semaphore.array);
      found.awaits_entry =
          found.awaits_entry || program.semaphores[array].kind == SemaphoreKind::kBarrier;
    }
  });
  return found;
}

// TPU_SKIP_MDS_QUERY: libtpu would ask a metadata server, which is not there, for a minute.
// ALLOW_MULTIPLE_LIBTPU_LOAD: else a second process at the same time is refused.
// TPU_LOG_DIR and --log_dir: else each process leaves files in /tmp. A caller's flags come later.
// The dump flags name the schedule as it is before idle cycles are folded, and the allocations.
std::vector<std::pair<std::string, std::string>> environment(const std::string& dump) {
  std::string flags = "--log_dir=/dev/null";
  if (const char* const given = std::getenv("LIBTPU_INIT_ARGS")) flags += cat(" ", given);
  if (!dump.empty()) {
    flags += cat(" --xla_jf_dump_to=", dump,
                 " --xla_jf_dump_llo_text=true --xla_jf_dump_llo_pass_label_regex=.*("
                 "packed-bundles-post-ra|pre-delay_hlo|post-delay-converter).*");
  }
  return {{"TPU_SKIP_MDS_QUERY", "1"},           {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
          {"TPU_LOG_DIR", "disabled"},           {"LIBTPU_INIT_ARGS", flags},
          {"TPU_WORKER_HOSTNAMES", "localhost"}, {"TPU_WORKER_ID", "0"}};
}

std::string hexadecimal(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    text += kDigits[static_cast<unsigned char>(each) >> 4];
    text += kDigits[static_cast<unsigned char>(each) & 15];
  }
  return text;
}

std::int64_t number(const Message& reply, const char* name) {
  return std::strtoll(reply.at(name).c_str(), nullptr, 10);
}

}  // namespace

void check_kernel(const Kernel& kernel, const Chip& chip) {
  const Program& program = kernel.program;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, cat("kernel ", program.name, what));
  };
  const std::string fault = check_program(program, chip);
  if (!fault.empty()) refuse(": " + one_line(fault));
  const Synchronisation found = synchronisation_of(program);
  if (found.sends && !found.awaits_entry) {
    refuse(
        " sends to other devices and never awaits the barrier semaphore: a neighbour that has not "
        "entered would be written to");
  }
  if (program.collective_id && !found.awaits_entry) {
    refuse(cat(" has collective id ", *program.collective_id,
               " and never awaits the barrier semaphore that goes by it; leave the id out"));
  }
  for (const int array : found.signalled) {
    if (found.awaited.contains(array)) continue;
    refuse(cat(" starts copies on the semaphores '",
               program.semaphores[static_cast<std::size_t>(array)].name,
               "' and never awaits any of them: what they move would be used before it is there"));
  }
}

Compiled compile(const Kernel& kernel, const Chip& chip, const CompileOptions& options) {
  check_kernel(kernel, chip);
  const emit::CustomCall call = emit::custom_call(kernel.program, chip, options.body);
  const std::string module =
      emit::stablehlo_module(kernel, call.config, {.wrapper = options.wrapper});
  return compile_module(module, call.body, kernel, chip, options);
}

Compiled compile_module(const std::string& module, const emit::MosaicText& body,
                        const Kernel& kernel, const Chip& chip, const CompileOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Ring& ring = kernel.ring;
  const Slice slice = make_slice(chip, options.slice, ring.num_devices());
  Compiled compiled;
  compiled.topology = slice.topology;
  compiled.libtpu = find_libtpu(options.libtpu);
  Message request = {
      {field::kLibtpu, compiled.libtpu},
      {field::kTopology, slice.topology},
      {field::kModule, module},
      {field::kWrapper, cat(static_cast<int>(emit::wrapper_of(kernel, options.wrapper)))}};
  if (options.assignment.empty()) {
    request[field::kPlaces] = places_text(place_devices(slice, ring));
  } else {
    check_assignment(slice, ring, options.assignment);
    for (const int number : options.assignment) request[field::kNumbers] += cat(number, "\n");
  }
  const Message reply = ask_worker(request, {.program = find_worker(options.worker),
                                             .timeout_seconds = options.timeout_seconds,
                                             .environment = environment(options.dump)});
  if (reply.count(field::kError) != 0) {
    throw refusal(reply, kernel.program, body, chip, slice.topology);
  }
  compiled.longest_hop = longest_hop(slice, ring, places_in(reply.at(field::kPlaces)));
  std::istringstream numbers(reply.at(field::kNumbers));
  for (int number = 0; numbers >> number;) compiled.assignment.push_back(number);
  compiled.version = one_line(reply.at(field::kVersion));
  compiled.fingerprint = hexadecimal(reply.at(field::kFingerprint));
  compiled.executable = reply.at(field::kExecutable);
  compiled.code_bytes = number(reply, field::kCodeBytes);
  compiled.argument_bytes = number(reply, field::kArgumentBytes);
  compiled.output_bytes = number(reply, field::kOutputBytes);
  compiled.temporary_bytes = number(reply, field::kTemporaryBytes);
  compiled.compile_seconds = std::strtod(reply.at(field::kCompileSeconds).c_str(), nullptr);
  compiled.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return compiled;
}

}  // namespace cmm::tpu::aot
