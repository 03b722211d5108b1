// The tile schedule: the order in which one device of a two-way ring loads blocks of y, passes rows
// of x on, multiplies tiles and stores them. The table of the TPU kernel is made from it, and the
// simulator walks it with a clock.
//
// All devices run the same schedule. What differs is where they are on the ring, so rows of x are
// named by their distance: `hop` h of a device's forward stream is a half of the shard of the
// device h places behind it, of its backward stream a half of the shard h places ahead.
//
//   P = 4       forward half of shard at hop     backward half of shard at hop
//               0   1   2   3                    0   1   2   3
//   device 0    0   3   2   1                    0   1   2   3
//   device 1    1   0   3   2                    1   2   3   0
//   device 2    2   1   0   3                    2   3   0   1
//   device 3    3   2   1   0                    3   0   1   2
//
// A *group* is what a tile op multiplies: up to side_rows rows of each half, at one hop; the two
// sides lie together in one x slot [2, side_rows, block_k]. A *piece* is what one remote copy
// moves: up to piece_rows rows of one side. A *block* is block_cols columns of y. An op multiplies
// one or more groups with one or more blocks, over one k block.
//
//   half of a shard     |  piece 0  |  piece 1  |  piece 2  |  piece 3 |     piece_rows each
//   groups of a hop     |        group 0        |        group 1       |     side_rows each
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/integers.hpp"
#include "schedule/schedule.hpp"

namespace cmm::schedule {

enum class Side { kForward = 0, kBackward = 1 };
inline constexpr Side kSides[] = {Side::kForward, Side::kBackward};

// Where x lies while it travels. kVmem: it is received into the x slots, multiplied and forwarded
// from there. kHbm: it is received into HBM (the gathered x, in rank order), forwarded from there,
// and loaded into an x slot when it is multiplied.
enum class XHome { kVmem, kHbm };

// What a step multiplies. A rectangle multiplies `groups` groups in consecutive x slots, as one
// matrix of 2 * groups * side_rows rows, with each of `blocks` blocks of consecutive columns. A
// free body (groups == 1) multiplies `blocks` pairs of any group and any block.
struct TileBody {
  int groups = 1;
  int blocks = 1;
  bool free = false;
  int out_slots = 2;  // each holds what the body produces: [groups, 2, side_rows, blocks *
                      // block_cols], or of a free body [blocks, 2, side_rows, block_cols]
};

struct TileShape {
  int num_devices = 1;          // P
  std::int64_t shard_rows = 0;  // rows of x on a device, a multiple of row_tile
  std::int64_t k = 0;
  std::vector<std::int64_t> cols;  // of each right side; multiples of 128
  int row_tile = 8;                // halves, sides and pieces are multiples of it
  std::int64_t side_rows = 0;      // of a group; a multiple of piece_rows
  std::int64_t piece_rows = 0;
  std::int64_t block_cols = 0;  // multiple of 128
  // k; or for kHbm a multiple of 128 that divides it: then the ops of a step add into the
  // accumulator of its body, and the steps for all k blocks of the same ops follow each other.
  std::int64_t block_k = 0;
  XHome x_home = XHome::kVmem;
  int x_slots = 1;     // of one group and one k block
  int y_slots = 1;     // of one block and one k block
  int y_parts = 1;     // copies that bring one block, each an even part of its rows of k, whole
                       // tiles of 128; one kLoadY starts and one kAwaitY awaits them all
  int departures = 2;  // sends in flight in each direction, each with a semaphore
  std::vector<TileBody> bodies;
  bool gathered = false;  // all of x is an output, too

  std::int64_t half_rows(Side side) const;   // forward: the larger half, in row tiles
  std::int64_t num_pieces(Side side) const;  // of one half
  std::int64_t num_groups() const;           // of one hop
  std::int64_t num_k_blocks() const;
  int num_blocks() const;                                   // of all right sides
  Range piece(Side side, std::int64_t piece) const;         // rows within the half
  Range group_rows(Side side, std::int64_t group) const;    // rows within the half; may be empty
  Range group_pieces(Side side, std::int64_t group) const;  // pieces that make up the group's side
  std::int64_t right_side_of(int block) const;
  Range block_columns(int block) const;  // within its right side
  // A slot is taken up by another group before the kernel ends: the sender then waits for a credit.
  bool needs_credits() const;

  // Arrivals are told apart by semaphores: for kVmem one of each piece of each x slot, which
  // credits protect as they protect the slot; for kHbm one of each piece of each hop. How many a
  // side has, and which of them the arrival of `piece` at `hop` (in `slot` for kVmem) is counted
  // by.
  std::int64_t num_arrivals(Side side) const;
  std::int64_t arrival(Side side, int hop, std::int64_t piece, int slot) const;
};

// Throws Error(kInvalidArgument) that names the field, its value and what it must be.
void check_tile_shape(const TileShape& shape);

// One thing a step starts or waits for. Which fields count stands beside each kind.
struct TileAction {
  enum class Kind {
    // Waits.
    kAwaitEntry,      // both neighbours have entered the kernel; once, before the first send
    kAwaitDeparture,  // side: the oldest send of that side not yet awaited has left
    kAwaitArrival,    // side, hop, piece: a piece has come
    kAwaitX,          // slot: the kLoadX into this slot
    kAwaitY,          // slot: the kLoadY into this slot
    kAwaitStore,      // body, slot: the kStore out of this slot
    kAwaitStoreX,     // slot: the kStoreX out of this slot
    kAwaitCredit,     // side: the receiver has freed another slot, in the order of its kGrant
    // Starts.
    kSend,  // side, hop, piece, slot, to_slot: this device's piece of hop `hop` goes to the
            // neighbour, where it is at hop + 1. Hop 0 is read from the input x. For kVmem, slot is
            // where the group lies here (from hop 1 on), to_slot where it will lie there
    kLoadX,   // hop, group, k_block, slot: from the input x (hop 0), or for kHbm the gathered x
    kLoadY,   // block, k_block, slot
    kStore,   // body, slot: what the step's ops have put there goes to the outputs: the step's own
              // body and out_slot, once, with the last k block
    kStoreX,  // hop, group, slot: a group goes to the gathered x, out of its slot; for kHbm, where
              // all others arrive there, a group of hop 0 from the input x
    kGrant,   // side: one of our slots is free; the neighbour that sends this side may fill it
  };
  Kind kind = Kind::kAwaitEntry;
  Side side = Side::kForward;
  int hop = 0;
  int piece = 0;
  int group = 0;
  int block = 0;
  int k_block = 0;
  int body = 0;
  int slot = 0;
  int to_slot = 0;
  friend bool operator==(const TileAction&, const TileAction&) = default;
};

// One group times one block; a rectangle lists them group by group.
struct TileOp {
  int hop = 0;
  int group = 0;
  int block = 0;
  int x_slot = 0;
  int y_slot = 0;
  friend bool operator==(const TileOp&, const TileOp&) = default;
};

// A step does these in this order. Within a list all actions of one kind stand together, in the
// order of TileAction::Kind, so that a kernel with one row of a table for a step can do the same.
struct TileStep {
  // Before the starts, for what is sent, for slots, for credits: all waits but kAwaitX and kAwaitY.
  std::vector<TileAction> waits;
  std::vector<TileAction> starts;    // kSend, kLoadX, kLoadY; for kHbm kStoreX
  std::vector<TileAction> operands;  // before the product: kAwaitArrival, kAwaitX, kAwaitY
  int body = kNone;                  // kNone: nothing is multiplied
  int out_slot = 0;                  // of the body
  int k_block = 0;                   // the first clears the accumulator, the last stores it
  std::vector<TileOp> ops;
  std::vector<TileAction> after;  // kStore, kGrant; for kVmem kStoreX
};

struct TileSchedule {
  TileShape shape;
  std::vector<TileStep> steps;
  std::vector<TileAction>
      drain;  // waits at the end: nothing of this kernel is in flight afterwards
};

// Proves by a walk over all steps, for all devices at once, that every element of every output is
// computed exactly once from operands that have been awaited, that no slot is written while it is
// read or read before it is written, that arrivals, departures, credits and grants pair up, and
// that the devices, each waiting for the others, all come to the end. The first violation in words
// with its step, or nothing.
std::string verify(const TileSchedule& schedule);

}  // namespace cmm::schedule
