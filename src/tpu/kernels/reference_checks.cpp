// What the reference kernel refuses, and what it takes and gets wrong: both with a reason here.
#include <algorithm>
#include <array>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "tpu/kernels/reference.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

std::string why_not_ring(const Ring& ring) {
  if (ring.mesh.empty()) return "the mesh has no axes; give at least one, as in 8 or 2x4";
  if (std::any_of(ring.mesh.begin(), ring.mesh.end(), [](int size) { return size < 1; })) {
    return cat("mesh ", joined(ring.mesh, "x"), " has an axis without devices; give at least 1");
  }
  const int num_axes = static_cast<int>(ring.mesh.size());
  if (ring.axis < 0 || ring.axis >= num_axes) {
    return cat("axis is ", ring.axis, " but mesh ", joined(ring.mesh, "x"), " has axes 0 to ",
               num_axes - 1);
  }
  if (ring.size() == 1) {
    return cat("axis ", ring.axis, " of mesh ", joined(ring.mesh, "x"),
               " has 1 device: the reference kernel always passes rows on to a neighbour, so it "
               "needs 2 or more (the wavefront kernel takes 1)");
  }
  return "";
}

std::string why_not_element(Element element, const Chip& chip) {
  if (element == Element::kS32) {
    return "x and y cannot be int32, which is a type of sums; give f32, bf16, fp8 or int8";
  }
  if (!multiplies(chip, element)) {
    return cat(chip.name, " does not multiply ", element_name(element));
  }
  return "";
}

// "896 or 1024": the multiples of `unit` next to value, those above 0.
std::string nearest(std::int64_t value, std::int64_t unit) {
  const std::int64_t below = value < unit ? 0 : value / unit * unit;
  return below == 0 ? cat(unit) : cat(below, " or ", below + unit);
}

std::string why_not_extents(const ReferenceOptions& options, const Chip& chip) {
  const std::int64_t num_devices = options.ring.size();
  const int tile = sublane_rows(chip.generation, options.element);
  const std::int64_t row_unit = 2 * num_devices * tile;
  if (options.m < 1 || options.m % row_unit != 0) {
    return cat("m is ", options.m,
               "; each device sends one half of its m/P rows each way, so m must "
               "be a multiple of 2 directions x ",
               num_devices, " devices x ", tile, " rows of a tile of ",
               element_name(options.element), " on ", chip.name, " = ", row_unit, ", as ",
               nearest(options.m, row_unit));
  }
  if (options.k < 1 || options.k % kLanes != 0) {
    return cat("k is ", options.k, "; it must be a multiple of ", kLanes, ", as ",
               nearest(options.k, kLanes));
  }
  if (options.n < 1 || options.n % num_devices != 0) {
    return cat("n is ", options.n, "; y is split by columns over ", num_devices,
               " devices of axis ", options.ring.axis, ", so n must be a multiple of ",
               num_devices * kLanes, ", as ", nearest(options.n, num_devices * kLanes));
  }
  if (options.n / num_devices % kLanes != 0) {
    return cat("n is ", options.n, ", so each of ", num_devices,
               " devices has n/P = ", options.n / num_devices,
               " columns, which must be a multiple of ", kLanes,
               ": n = ", nearest(options.n, num_devices * kLanes));
  }
  return "";
}

// The multiple of 128 that divides extent and is nearest to `size`, of equally near ones the
// smaller; the extent is itself a multiple of 128.
std::int64_t nearest_block(std::int64_t extent, std::int64_t size) {
  const auto distance = [&](std::int64_t block) { return std::abs(block - size); };
  std::int64_t best = kLanes;
  for (std::int64_t block = kLanes; block <= extent; block += kLanes) {
    if (extent % block == 0 && distance(block) < distance(best)) best = block;
  }
  return best;
}

struct BlockSize {
  const char* name;
  std::int64_t size;
  const char* extent_name;
  std::int64_t extent;
};

std::string why_not_block(const BlockSize& block) {
  const std::string right =
      cat("it must be a multiple of ", kLanes, " that divides ", block.extent_name, " = ",
          block.extent, ", as ", nearest_block(block.extent, block.size));
  if (block.size == 0) return cat(block.name, " is 0, which stands for no block size; ", right);
  if (block.size < 0) return cat(block.name, " is ", block.size, ", which is negative; ", right);
  if (block.size > block.extent) {
    return cat(block.name, " is ", block.size, ", larger than all of ", block.extent_name, "; ",
               right);
  }
  if (block.size % kLanes != 0) {
    return cat(block.name, " is ", block.size, ", no multiple of ", kLanes, "; ", right);
  }
  if (block.extent % block.size != 0) {
    return cat(block.name, " is ", block.size, ", so the last block would have ",
               block.extent % block.size, " of its ", block.size, "; ", right);
  }
  return "";
}

// The VMEM buffers, whose shapes are known before there is a program.
std::vector<Buffer> vmem_buffers(const ReferenceOptions& options) {
  const std::int64_t rows = options.m / options.ring.size(), cols = options.n / options.ring.size();
  const auto buffer = [](const char* name, Element element, std::vector<std::int64_t> shape) {
    return Buffer{.name = name,
                  .memory = Memory::kVmem,
                  .element = element,
                  .shape = std::move(shape),
                  .role = Role::kScratch};
  };
  const Element element = options.element;
  std::vector<Buffer> buffers = {
      buffer("x slots", element, {2, rows, options.k}),
      buffer("y on chip", element,
             options.rhs_transposed ? std::vector{cols, options.k} : std::vector{options.k, cols}),
      buffer("out slots", element, {2, rows, options.bn})};
  if (options.bk < options.k) {
    buffers.push_back(buffer("accumulator", sum_element(element), {rows, options.bn}));
  }
  return buffers;
}

std::string why_not_memory(const ReferenceOptions& options, const Chip& chip) {
  const std::int64_t bytes = reference_vmem_bytes(options, chip);
  if (bytes > chip.vmem_bytes) {
    const auto part = [&](const Buffer& buffer) {
      return cat(buffer.name, " ", padded_bytes(buffer, chip));
    };
    return cat("the reference kernel keeps all of y and two shards of x on the chip: ", bytes,
               " bytes of VMEM (", joined(vmem_buffers(options), " + ", part), "), but ", chip.name,
               " has ", chip.vmem_bytes,
               "; more devices make both smaller (the wavefront kernel streams y)");
  }
  // Second round, x, y and out copies; a departure and an arrival of each hop and direction.
  const std::int64_t semaphores = 4 + 4 * (options.ring.size() - 1);
  if (semaphores > chip.num_semaphores) {
    return cat("the reference kernel needs ", semaphores, " semaphores for ", options.ring.size(),
               " devices, but ", chip.name, " has ", chip.num_semaphores);
  }
  return "";
}

}  // namespace

std::int64_t reference_vmem_bytes(const ReferenceOptions& options, const Chip& chip) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : vmem_buffers(options)) bytes += padded_bytes(buffer, chip);
  return bytes;
}

std::string why_not_reference(const ReferenceOptions& options, const Chip& chip) {
  std::string why_not = why_not_ring(options.ring);
  if (why_not.empty()) why_not = why_not_element(options.element, chip);
  if (why_not.empty()) why_not = why_not_extents(options, chip);
  if (!why_not.empty()) return why_not;

  const BlockSize bn = {"bn", options.bn, "n/P", options.n / options.ring.size()};
  const BlockSize bk = {"bk", options.bk, "k", options.k};
  for (const BlockSize& block : {bn, bk}) {
    why_not = why_not_block(block);
    if (!why_not.empty()) return why_not;
  }
  if (options.collective_id < 0) {
    return cat(
        "collective_id is ", options.collective_id,
        "; the barrier semaphore of a kernel is found by it, so give 0 or more, and the same "
        "only to kernels with the same neighbours");
  }
  return why_not_memory(options, chip);
}

}  // namespace cmm::tpu
