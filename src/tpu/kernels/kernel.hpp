// A kernel: its program, and what its operands mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tpu/builder.hpp"
#include "tpu/program.hpp"

namespace cmm::tpu {

// The ring runs along one axis of a mesh; the mesh's devices are numbered row-major.
struct Ring {
  std::vector<int> mesh = {1};
  int axis = 0;
  int size() const { return mesh[static_cast<std::size_t>(axis)]; }
  int num_devices() const;
  int stride() const;  // between neighbours' numbers: product of the later axes
};

// Where a device is on its ring, as expressions of its number.
struct RingPosition {
  Scalar index;     // 0 .. P - 1
  Scalar forward;   // the neighbour at index + 1, as a device's number
  Scalar backward;  // at index - 1
};
RingPosition ring_position(Builder& builder, const Ring& ring);

// Extents as the kernel sees them, and as the user does. A kernel works on whole tiles: rows of
// x beyond m, columns beyond k and n are zeros that the caller adds, and what it puts into rows
// and columns beyond m and n has no meaning.
struct Extents {
  std::int64_t m = 0;  // of all devices
  std::int64_t k = 0;
  std::vector<std::int64_t> cols;  // of one device, of each right side
};

// What the words of a table mean, row by row: a row is a step. Words of products share their
// places: what such a word means depends on the body that the row's step runs.
struct TableLayout {
  struct Field {
    std::string name;  // "send forward 0: piece"
    int at = 0;        // in its row
    int body = -1;     // -1: whatever body
  };
  int width = 0;  // words of a row
  int body_at = 0;
  std::vector<Field> fields;
};

struct Kernel {
  Program program;
  Ring ring;
  Extents asked;
  // Of one device: a device holds rows_asked rows of x (the last fewer), padded to shard_rows.
  std::int64_t rows_asked = 0;
  std::int64_t shard_rows = 0;
  Extents padded;
  Element element = Element::kBF16;
  Element out_element = Element::kBF16;
  bool rhs_transposed = false;
  // Inputs of the program: the table where there is one (int32, one dimension), x [shard_rows, k],
  // y [k, cols] or [cols, k] of each right side. Outputs: out [P * shard_rows, cols] of each right
  // side, then gathered x [P * shard_rows, k] where it is asked for; the reference kernel has its
  // scratch for x there, which is no result.
  std::vector<std::int32_t> table;
  TableLayout table_layout;
  bool gathered = false;
};

// Every device has entered before its neighbours send to it: each signals both neighbours and waits
// for two signals, first with the barrier semaphore, then with a semaphore of this kernel's own.
// Of these kernels' calls the first round suffices; the reference has the second, so ours keep it
// for other programs of the same collective id, which a neighbour may leave before all have
// entered.
//
// A kernel with work to do that needs no neighbour announces itself first and waits later.
void announce_entry(Builder& builder, const RingPosition& position, int barrier);
void await_entry(Builder& builder, const RingPosition& position, int barrier, int second_round);

}  // namespace cmm::tpu
