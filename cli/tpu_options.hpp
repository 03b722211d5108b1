// The flags of `cmm tpu` that describe a chip, a problem and a kernel; each command takes what it
// needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmm/tpu.hpp"

namespace CLI {
class App;
}

namespace cmm::cli {

// What --chip names: one of the library's chips or, where `path` (--chips) is not empty, of that
// file. Throws Error(kInvalidArgument) that lists the names there are, and as tpu::read_chips().
tpu::Chip chip_named(const std::string& name, const std::string& path);

class TpuOptions {
 public:
  // Of a problem that says nothing else.
  struct Defaults {
    int num_devices = 8;
    std::int64_t m = 1024;
    std::int64_t k = 5120;
    std::int64_t n = 51200;
  };

  void add_chip_to(CLI::App& app);  // --chip --chips
  // --devices --mesh --axis --m --k --n --dtype --out-dtype --transpose-y --gathered
  void add_problem_to(CLI::App& app, const Defaults& defaults);
  // --schedule --bn --bk --parameters; the help of --schedule says what can be named and what
  // is taken otherwise.
  void add_kernel_to(CLI::App& app, const std::string& schedule_help = kOneKernel);

  static constexpr const char* kOneKernel =
      "reference or wavefront (default: wavefront; reference where --bn or --bk is given)";

  // All throw Error(kInvalidArgument) where flags contradict each other; chip() as
  // tpu::read_chips() too.
  tpu::Chip chip() const { return chip_named(chip_, chips_path_); }
  std::string chip_flags() const;  // "--chip v6e": those that ask for chip() again
  // Throws where `mode` of the command has no use for a flag of add_problem_to() or add_kernel_to()
  // that was given.
  static void refuse_shape_and_kernel(const CLI::App& app, std::string_view mode);
  tpu::Problem problem() const;
  tpu::KernelOptions kernel() const { return kernel_; }

 private:
  std::string chip_ = "v6e";
  std::string chips_path_;
  std::optional<int> num_devices_;
  std::vector<int> mesh_;
  std::optional<int> axis_;
  int default_devices_ = 8;
  tpu::Problem problem_;
  tpu::KernelOptions kernel_;
};

class MachineFlags {
 public:
  void add_to(CLI::App& app);  // --slice --copy-gbytes
  const std::vector<int>& slice() const { return slice_; }
  double copy_bytes_per_second() const { return copy_bytes_per_second_; }

 private:
  std::vector<int> slice_;
  double copy_bytes_per_second_ = 0;
};

class VerificationFlags {
 public:
  void add_to(CLI::App& app);  // --interleavings --seed
  tpu::VerificationOptions options() const {
    return options(tpu::VerificationOptions().num_interleavings);
  }
  tpu::VerificationOptions options(int default_interleavings) const {
    return {.seed = seed_, .num_interleavings = num_interleavings_.value_or(default_interleavings)};
  }

 private:
  std::uint64_t seed_ = tpu::VerificationOptions().seed;
  std::optional<int> num_interleavings_;
};

// "2x4": whole numbers from 1 on.
std::vector<int> parse_grid(std::string_view option, std::string_view text);
std::string grid_text(const std::vector<int>& grid);

// The flags that ask for this problem and kernel, so that a line can be run again.
std::string flags_of(const tpu::Problem& problem, const tpu::KernelOptions& kernel);
// The schedule of the kernel that was made, and why it where none was named.
std::string kernel_choice_text(const tpu::KernelOptions& asked, tpu::Schedule made);
// "bf16 x [1024, 5120], y [5120, 51200] on 8 devices": for people.
std::string problem_text(const tpu::Problem& problem);

}  // namespace cmm::cli
