#include "tpu/emit/custom_call.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu::emit {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::int64_t count(const Program& program, Role role) {
  return std::count_if(program.buffers.begin(), program.buffers.end(),
                       [role](const Buffer& buffer) { return buffer.role == role; });
}

// Without these XLA may put operands and results into VMEM where they seem to fit, and the kernel's
// copies become loops of vector loads and stores. 0 is HBM. Operands in SMEM take no color.
std::string memory_space_colors(const Program& program) {
  std::string inputs, outputs;
  const std::int64_t num_outputs = count(program, Role::kOutput);
  int input = 0, output = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == Role::kOutput) {
      outputs += cat(output == 0 ? "" : ", ", "{\"color\": 0");
      if (num_outputs > 1) outputs += cat(", \"shape_index\": [", output, "]");
      outputs += "}";
      ++output;
    }
    if (buffer.role == Role::kInput) {
      if (buffer.memory == Memory::kHbm) {
        inputs += cat(inputs.empty() ? "" : ", ", "{\"operand_index\": ", input, ", \"color\": 0}");
      }
      ++input;
    }
  }
  return cat("\"output_memory_space_colors\": [", outputs, "], \"input_memory_space_colors\": [",
             inputs, "]");
}

// Bytes of the largest left operand, with a right one that is to be turned, and of the largest sums
// of a product. Narrow types may be widened to bf16.
struct Largest {
  std::int64_t operand = 0, sums = 0;
};
Largest largest_of(const Program& program) {
  const auto bytes = [&](Vector vector, int least) {
    const VectorType& type = program.vectors[static_cast<std::size_t>(vector.id)];
    return num_elements(type.shape) * std::max(element_bytes(type.element), least);
  };
  Largest largest;
  for_each_statement(program.body, [&](const Statement& statement, int) {
    const auto* matmul = std::get_if<Matmul>(&statement.what);
    if (matmul == nullptr) return;
    const int widened = element_bytes(Element::kBF16);
    const std::int64_t turned = matmul->rhs_transposed ? bytes(matmul->rhs, widened) : 0;
    largest.operand = std::max(largest.operand, bytes(matmul->lhs, widened) + turned);
    largest.sums = std::max(largest.sums, bytes(matmul->result, 1));
  });
  return largest;
}

bool communicates(const Program& program) { return program.num_devices > 1; }

std::string config_json(const Program& program, const Chip& chip, std::string_view body,
                        bool bounds_checks) {
  std::string json = cat("{\"custom_call_config\": {\"body\": \"", base64(body), "\"");
  if (communicates(program)) json += ", \"has_communication\": true";
  if (program.collective_id) json += cat(", \"collective_id\": ", *program.collective_id);
  json += cat(", \"cost_estimate\": {\"flops\": ", program.cost.flops,
              ", \"transcendentals\": 0, \"bytes_accessed\": ", program.cost.hbm_bytes,
              ", \"remote_bytes_transferred\": ", program.cost.remote_bytes, "}");
  json += ", \"serialization_format\": 1, \"needs_layout_passes\": true, ";
  if (!bounds_checks) json += "\"disable_bounds_checks\": true, ";
  json += memory_space_colors(program);
  json += cat("}, \"scoped_memory_configs\": [{\"memory_space\": 1, \"offset\": 0, \"size\": ",
              scoped_vmem_bytes(program, chip), "}]}");
  return json;
}

}  // namespace

std::int64_t scoped_vmem_bytes(const Program& program, const Chip& chip) {
  const Largest largest = largest_of(program);
  const std::int64_t buffers = vmem_bytes(program, chip);
  const std::int64_t spilled = largest.operand + largest.operand / 4 + largest.sums + kMiB;
  return std::max(buffers, std::min(buffers + spilled, chip.vmem_bytes));
}

CustomCall custom_call(const Program& program, const Chip& chip, const BodyOptions& options) {
  const MosaicModule module = to_mosaic(program, options.version);
  CustomCall call{.body = mosaic_text(module), .config = {}};
  const bool text = options.form == BodyForm::kText;
  call.config =
      config_json(program, chip, text ? call.body.text : mosaic_bytecode(module, program.notes),
                  options.bounds_checks);
  return call;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < size ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= size ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace cmm::tpu::emit
