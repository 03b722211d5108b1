// The copies, signals and waits of the wavefront kernel: the statements of one action each, with
// its words as scalars, out of a row of the table or constant.
#pragma once

#include <map>
#include <string>

#include "tpu/kernels/wavefront/code.hpp"
#include "tpu/kernels/wavefront/resources.hpp"

namespace cmm::tpu::wavefront {

using ScalarWords = std::map<std::string, Scalar>;  // by the names of Code

// What all parts of the kernel's body work with.
struct Context {
  Builder& build;
  const schedule::TileShape& shape;
  const WavefrontOptions& options;
  const Code& code;
  const Resources& resources;
  RingPosition position;
};

class Actions {
 public:
  explicit Actions(const Context& context)
      : context_(context), build_(context.build), shape_(context.shape) {}

  void write(Kind kind, int variant, const ScalarWords& words);

  // The product of a step goes out of its slot: of `body`, with the words of the product.
  void write_stores(int body, const ScalarWords& words);

 private:
  struct Rows {  // of a slice: where they begin, in row tiles, and how many
    Scalar tile;
    std::int64_t size = 0;
  };

  Scalar constant(std::int64_t value) { return build_.constant(value); }
  Scalar times(Scalar a, std::int64_t b) { return build_.mul(a, constant(b)); }
  std::int64_t tiles(std::int64_t rows) const { return rows / shape_.row_tile; }

  template <class Form, class Write>
  void each_form(const Forms<Form>& forms, const ScalarWords& words, const std::string& word,
                 const Write& write);

  // Row tiles, from the first of the shard or of the gathered x.
  Scalar piece_tile(schedule::Side side, Scalar piece);
  Scalar group_tile(schedule::Side side, Scalar group);
  Scalar shard_tile(schedule::Side side, Scalar hop);
  Scalar neighbour(schedule::Side side, bool sends) const;

  // Rows of x or of the gathered x, all of k or a k block.
  Slice x_rows(int buffer, Rows rows);
  Slice x_rows(int buffer, Rows rows, Scalar k_block);
  Slice slot_rows(schedule::Side side, Scalar slot, Scalar row, std::int64_t size);

  void start(Slice source, Slice target, int semaphore, Scalar index);
  void await(const Slice& slice, int semaphore, Scalar index);

  void await_departure(schedule::Side side, const ScalarWords& words);
  void await_arrival(schedule::Side side, const ScalarWords& words);
  void await_x(const ScalarWords& words);
  void await_y(const ScalarWords& words);
  void await_store_x(const ScalarWords& words);
  void await_store(int body, const ScalarWords& words);
  void send(schedule::Side side, const ScalarWords& words);
  void load_x(const ScalarWords& words);
  void load_y(const ScalarWords& words);
  void store_x(const ScalarWords& words);

  const Context& context_;
  Builder& build_;
  const schedule::TileShape& shape_;
};

}  // namespace cmm::tpu::wavefront
