#include <variant>
#include <vector>

#include "base/text.hpp"
#include "tpu/check.hpp"
#include "tpu/shapes.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {
namespace {

class TileChecker {
 public:
  TileChecker(const Program& program, const Chip& chip) : program_(program), chip_(chip) {}

  // The first fault of a block in words, or nothing.
  std::string block(const Block& statements) const {
    for (const Statement& statement : statements) {
      std::string fault = std::visit([this](const auto& what) { return of(what); }, statement.what);
      if (!fault.empty()) return fault;
    }
    return "";
  }

 private:
  std::string of(const StartCopy& copy) const { return first(copy, {copy.source, copy.target}); }
  std::string of(const AwaitCopy& await) const {
    return first(await, {await.source, await.target});
  }
  std::string of(const LoadVector& load) const { return first(load, {load.from}); }
  std::string of(const StoreVector& store) const { return first(store, {store.to}); }
  std::string of(const If& branch) const { return block(branch.then); }
  std::string of(const For& loop) const { return block(loop.body); }
  std::string of(const Scope& scope) const { return block(scope.body); }
  template <class Other>
  std::string of(const Other&) const {
    return "";
  }

  template <class What>
  std::string first(const What& what, const std::vector<Slice>& slices) const {
    for (const Slice& slice : slices) {
      const std::string fault = misaligned(slice);
      if (!fault.empty()) {
        return cat(TextWriter(program_).line({.what = what, .note = -1}), ":\n", fault);
      }
    }
    return "";
  }

  std::string misaligned(const Slice& slice) const {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(slice.buffer)];
    for (std::size_t i = 0; i < slice.sizes.size(); ++i) {
      const ScalarNode& offset = program_.scalars[static_cast<std::size_t>(slice.offsets[i].id)];
      const int tile = tile_along(buffer, static_cast<int>(i), chip_);
      const auto fault = [&](const char* what, std::int64_t value) {
        return cat(what, " ", value, " of dimension ", i, " of ", buffer.name,
                   " is no multiple of ", tile);
      };
      if (offset.op == ScalarOp::kConstant && offset.immediate % tile != 0) {
        return fault("offset", offset.immediate);
      }
      const bool whole = slice.sizes[i] == buffer.shape[i];
      if (!whole && slice.sizes[i] % tile != 0) return fault("size", slice.sizes[i]);
    }
    return "";
  }

  const Program& program_;
  const Chip& chip_;
};

}  // namespace

std::string check_tiles(const Program& program, const Chip& chip) {
  return TileChecker(program, chip).block(program.body);
}

std::string check_program(const Program& program, const Chip& chip) {
  std::string text = check_structure(program);
  return text.empty() ? check_tiles(program, chip) : text;
}

}  // namespace cmm::tpu
