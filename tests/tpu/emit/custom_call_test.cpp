#include "tpu/emit/custom_call.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tpu/emit/small_kernels.hpp"

namespace cmm::tpu::emit {
namespace {

using nlohmann::json;
using test::small_kernels;
using test::SmallKernel;

TEST(CustomCall, TellsLibtpuWhatTheProgramIs) {
  for (const SmallKernel& small : small_kernels()) {
    SCOPED_TRACE(small.name);
    const Program& program = small.kernel.program;
    const CustomCall call = custom_call(program, small.chip, {});
    const json config = json::parse(call.config);
    const json& custom = config.at("custom_call_config");
    EXPECT_EQ(custom.at("body"), base64(call.body.text));
    EXPECT_EQ(custom.at("has_communication"), true);
    EXPECT_EQ(custom.at("collective_id"), *program.collective_id);
    EXPECT_EQ(custom.at("serialization_format"), 1);
    EXPECT_EQ(custom.at("needs_layout_passes"), true);
    const json& cost = custom.at("cost_estimate");
    EXPECT_EQ(cost.at("flops"), program.cost.flops);
    EXPECT_EQ(cost.at("bytes_accessed"), program.cost.hbm_bytes);
    EXPECT_EQ(cost.at("remote_bytes_transferred"), program.cost.remote_bytes);
    const json& scoped = config.at("scoped_memory_configs").at(0);
    EXPECT_EQ(scoped.at("memory_space"), 1);
    EXPECT_EQ(scoped.at("size"), scoped_vmem_bytes(program, small.chip));
    EXPECT_GE(scoped.at("size"), vmem_bytes(program, small.chip));
  }
}

// Every operand and result in HBM stays there; the table, an operand in SMEM, has no color.
TEST(CustomCall, KeepsOperandsAndResultsInHbm) {
  for (const SmallKernel& small : small_kernels()) {
    SCOPED_TRACE(small.name);
    const Program& program = small.kernel.program;
    const json config = json::parse(custom_call(program, small.chip, {}).config);
    const json& inputs = config["custom_call_config"]["input_memory_space_colors"];
    const json& outputs = config["custom_call_config"]["output_memory_space_colors"];
    int input = 0, output = 0;
    std::size_t colored = 0;
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role == Role::kOutput) {
        const json& color = outputs.at(static_cast<std::size_t>(output));
        EXPECT_EQ(color.at("color"), 0);
        if (outputs.size() > 1) {
          EXPECT_EQ(color.at("shape_index"), json::array({output}));
        }
        ++output;
      }
      if (buffer.role != Role::kInput) continue;
      if (buffer.memory == Memory::kHbm) {
        EXPECT_EQ(inputs.at(colored).at("operand_index"), input);
        EXPECT_EQ(inputs.at(colored).at("color"), 0);
        ++colored;
      }
      ++input;
    }
    EXPECT_EQ(colored, inputs.size());
    EXPECT_EQ(static_cast<std::size_t>(output), outputs.size());
  }
}

TEST(CustomCall, LeavesOutBoundsChecksUnlessAskedForThem) {
  const SmallKernel small = small_kernels()[0];
  const auto config = [&](bool bounds_checks) {
    const CustomCall call =
        custom_call(small.kernel.program, small.chip, {.bounds_checks = bounds_checks});
    return json::parse(call.config)["custom_call_config"];
  };
  EXPECT_EQ(config(false)["disable_bounds_checks"], true);
  EXPECT_FALSE(config(true).contains("disable_bounds_checks"));
}

TEST(CustomCall, TakesTheBodyInEitherForm) {
  const SmallKernel small = small_kernels()[0];
  const CustomCall call =
      custom_call(small.kernel.program, small.chip, {.version = 9, .form = BodyForm::kBytecode});
  const MosaicModule module = to_mosaic(small.kernel.program, 9);
  EXPECT_EQ(call.body.text, mosaic_text(module).text);
  EXPECT_EQ(json::parse(call.config)["custom_call_config"]["body"],
            base64(mosaic_bytecode(module, small.kernel.program.notes)));
}

}  // namespace
}  // namespace cmm::tpu::emit
