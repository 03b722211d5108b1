#include "tpu/kernels/wavefront/products.hpp"

#include "base/text.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu::wavefront {
namespace {

using schedule::TileBody;

class Product {
 public:
  Product(const Context& context, int body, const ScalarWords& words)
      : context_(context),
        build_(context.build),
        number_(static_cast<std::size_t>(body)),
        body_(context.shape.bodies[number_]),
        rows_(2 * body_.groups * context.shape.side_rows),
        words_(words) {}

  enum class Sums { kOnly, kFirst, kMiddle, kLast };  // of the k blocks of a product

  void write(Sums sums) {
    for (int block = 0; block < body_.blocks; ++block) {
      // Loaded again for each op of a rectangle: where several ops have one value of x, the
      // compiler keeps a copy of it in VMEM, as large as the groups, as spilled registers.
      const Vector lhs = load_x(words_.at(body_.free ? cat("x slot ", block) : "x slot"));
      const Vector product = build_.matmul(lhs, load_y(words_.at(cat("y slot ", block))),
                                           context_.options.rhs_transposed);
      add(product, block, sums);
    }
  }

 private:
  Scalar constant(std::int64_t value) { return build_.constant(value); }

  Vector load_x(Scalar slot) {  // [2 groups side_rows, block_k]
    const std::int64_t block_k = context_.shape.block_k;
    const Vector sides =
        build_.load({.buffer = context_.resources.x_slots,
                     .offsets = {build_.mul(slot, constant(2)), constant(0), constant(0)},
                     .sizes = {2 * body_.groups, context_.shape.side_rows, block_k}});
    return build_.reshape(sides, {rows_, block_k});
  }

  Vector load_y(Scalar slot) {  // [block_k, block_cols], or transposed
    const std::int64_t bk = context_.shape.block_k, bc = context_.shape.block_cols;
    const bool transposed = context_.options.rhs_transposed;
    return build_.load({.buffer = context_.resources.y_slots,
                        .offsets = {slot, constant(0), constant(0)},
                        .sizes = {1, transposed ? bc : bk, transposed ? bk : bc},
                        .num_squeezed = 1});
  }

  Slice accumulator(int block) {  // [2 groups side_rows, block_cols]
    return {.buffer = context_.resources.accumulators[number_],
            .offsets = {constant(block), constant(0), constant(0)},
            .sizes = {1, rows_, context_.shape.block_cols},
            .num_squeezed = 1};
  }

  void add(Vector product, int block, Sums sums) {
    if (sums == Sums::kFirst) return build_.store(product, accumulator(block));
    if (sums == Sums::kOnly) return store(product, block);
    Vector before = build_.load(accumulator(block));
    if (sums == Sums::kLast) return store(build_.add(before, product), block);
    const Vector zero = build_.zero({.element = sum_element(context_.options.element),
                                     .shape = {rows_, context_.shape.block_cols}});
    const Scalar is_first = build_.equal(words_.at("k block"), constant(0));
    before = build_.select(is_first, zero, before);
    build_.store(build_.add(before, product), accumulator(block));
  }

  void store(Vector sums, int block) {
    const std::int64_t cols = context_.shape.block_cols, side_rows = context_.shape.side_rows;
    const int half_tiles = 2 * body_.groups;
    const Vector rounded = build_.cast(sums, context_.options.out_element);
    const Scalar first =
        build_.add(build_.mul(words_.at("out slot"), constant(2 * tiles_of(body_))),
                   constant(body_.free ? half_tiles * block : 0));
    build_.store(build_.reshape(rounded, {half_tiles, side_rows, cols}),
                 {.buffer = context_.resources.out_slots[number_],
                  .offsets = {first, constant(0), constant(body_.free ? 0 : block * cols)},
                  .sizes = {half_tiles, side_rows, cols}});
  }

  const Context& context_;
  Builder& build_;
  const std::size_t number_;
  const TileBody& body_;
  const std::int64_t rows_;
  const ScalarWords& words_;
};

}  // namespace

Scalar is_complete(const Context& context, const ScalarWords& words) {
  const std::int64_t last = context.shape.num_k_blocks() - 1;
  Builder& build = context.build;
  return last == 0 ? build.constant(1) : build.equal(words.at("k block"), build.constant(last));
}

void write_product(const Context& context, int body, const ScalarWords& words) {
  Product product(context, body, words);
  const std::int64_t last = context.shape.num_k_blocks() - 1;
  if (last == 0) return product.write(Product::Sums::kOnly);
  Builder& build = context.build;
  // Of two k blocks the one that is not last is the first.
  const auto others = last == 1 ? Product::Sums::kFirst : Product::Sums::kMiddle;
  build.when(build.less(words.at("k block"), build.constant(last)), [&] { product.write(others); });
  build.when(is_complete(context, words), [&] { product.write(Product::Sums::kLast); });
}

}  // namespace cmm::tpu::wavefront
