// The multiply-add tile of AVX-512: up to 6 rows x 64 columns, the whole loop over k in one asm
// statement with fixed registers. For avx512.cpp and avx512_bf16.cpp only, which are compiled for
// their instruction set; everything here has internal linkage so that no other file can pick up
// AVX-512 code.
//
//   zmm0-3    y of one step: panel0 columns 0-15, 16-31, panel1 columns 0-15, 16-31
//   zmm4-7    broadcasts of x, in rotation
//   zmm8-31   accumulators: row i, vector j in zmm(8 + 4 i + j)
//
// 10 loads per 24 multiply-adds: Ice Lake issues only 1.3 512-bit loads per cycle, so every other
// shape is slower there (14x32: 94 % of the peak against 97 %), and broadcasts inside the
// multiply-add halve the speed. Intrinsics lose 4-8 %: g++ 12 moves y loads up and spills
// accumulators.
#pragma once

#include <cstdint>

#include "gemm/kernels.hpp"

namespace cmm::gemm {
namespace {

// What one tile call prefetches in each of its rounds of 4 steps. Two tiles' worth of next_y cover
// a pair of panels; with many tiles a line is asked for several times, which costs nothing.
// 2 lines per round left gaps below 48 rows: 16 rows took 1.3 (f32) to 1.6 times (bf16) as long on
// a Zen 5 core.
struct TileHints {
  const void* next_y;           // kNextYLines lines per round into L2
  std::int64_t next_y_advance;  // bytes from one to the next
  std::int64_t next_y_jump[2];  // more of them after the first half of a round, and the second
  const void* next_acc;         // 1 line per round, to be written
  std::int64_t next_acc_advance;
};

constexpr std::int64_t kNextYLines = 8;

// Where a hint is absent its prefetch stays on memory the tile owns: a line of y or of another
// thread's accumulators must not be asked for in order to write it.
inline TileHints tile_hints(const TileArgs& args, std::int64_t rounds, std::int64_t rows) {
  TileHints hints = {args.x, 0, {0, 0}, args.acc_out, 0};
  if (rounds == 0) return hints;
  if (args.prefetch_l2 != nullptr) {
    hints.next_y = args.prefetch_l2;
    const bool one_run = args.prefetch_l2_runs == 1;
    const bool short_runs = args.prefetch_l2_bytes <= 64 * kNextYLines / 2;
    // Of runs, each half of a round takes one up to 256 bytes, or each round one up to 512. What
    // the rounds do not reach is not fetched ahead; what they reach beyond is wanted soon.
    const std::int64_t lines = one_run      ? kNextYLines * rounds
                               : short_runs ? kNextYLines / 2
                                            : kNextYLines;
    hints.next_y_advance = (args.prefetch_l2_bytes + lines - 1) / lines;
    if (!one_run) {
      const std::int64_t jump = args.prefetch_l2_stride - lines * hints.next_y_advance;
      hints.next_y_jump[0] = short_runs ? jump : 0;
      hints.next_y_jump[1] = jump;
    }
  }
  if (args.next_acc != nullptr) {
    hints.next_acc = args.next_acc;
    hints.next_acc_advance = (rows * kPairColumns * 4 + rounds - 1) / rounds;
  }
  return hints;
}

// In the macros P is the number of panels (1 or 2), R the number of rows, OP the multiply-add and
// S the step inside a round. The asm operands are named at CMM_TILE_ASM.
// clang-format off
#define CMM_TILE_LOAD_Y_1(S)                        \
  "vmovaps " #S "*128(%[y]), %%zmm0\n"              \
  "vmovaps " #S "*128+64(%[y]), %%zmm1\n"
#define CMM_TILE_LOAD_Y_2(S) CMM_TILE_LOAD_Y_1(S)   \
  "vmovaps " #S "*128(%[y],%[panel1]), %%zmm2\n"    \
  "vmovaps " #S "*128+64(%[y],%[panel1]), %%zmm3\n"

// Row I: broadcast into zmm B, accumulators C0-C3.
#define CMM_TILE_ROW_1(OP, S, I, B, C0, C1, C2, C3)                 \
  "vbroadcastss " #S "*%c[step]+" #I "*4(%[x]), %%zmm" #B "\n"      \
  OP " %%zmm0, %%zmm" #B ", %%zmm" #C0 "\n"                         \
  OP " %%zmm1, %%zmm" #B ", %%zmm" #C1 "\n"
#define CMM_TILE_ROW_2(OP, S, I, B, C0, C1, C2, C3)                 \
  CMM_TILE_ROW_1(OP, S, I, B, C0, C1, C2, C3)                       \
  OP " %%zmm2, %%zmm" #B ", %%zmm" #C2 "\n"                         \
  OP " %%zmm3, %%zmm" #B ", %%zmm" #C3 "\n"

#define CMM_TILE_ROWS_1(P, OP, S)                             CMM_TILE_ROW_##P(OP, S, 0, 4, 8, 9, 10, 11)
#define CMM_TILE_ROWS_2(P, OP, S) CMM_TILE_ROWS_1(P, OP, S)   CMM_TILE_ROW_##P(OP, S, 1, 5, 12, 13, 14, 15)
#define CMM_TILE_ROWS_3(P, OP, S) CMM_TILE_ROWS_2(P, OP, S)   CMM_TILE_ROW_##P(OP, S, 2, 6, 16, 17, 18, 19)
#define CMM_TILE_ROWS_4(P, OP, S) CMM_TILE_ROWS_3(P, OP, S)   CMM_TILE_ROW_##P(OP, S, 3, 7, 20, 21, 22, 23)
#define CMM_TILE_ROWS_5(P, OP, S) CMM_TILE_ROWS_4(P, OP, S)   CMM_TILE_ROW_##P(OP, S, 4, 4, 24, 25, 26, 27)
#define CMM_TILE_ROWS_6(P, OP, S) CMM_TILE_ROWS_5(P, OP, S)   CMM_TILE_ROW_##P(OP, S, 5, 5, 28, 29, 30, 31)

#define CMM_TILE_STEP(P, R, OP, S) CMM_TILE_LOAD_Y_##P(S) CMM_TILE_ROWS_##R(P, OP, S)

#define CMM_TILE_NEXT_Y                             \
  "prefetcht1 (%[next_y])\n"                        \
  "add %[next_y_advance], %[next_y]\n"
#define CMM_TILE_HINTING_STEP(P, R, OP, S)          \
  CMM_TILE_NEXT_Y CMM_TILE_LOAD_Y_##P(S)            \
  CMM_TILE_NEXT_Y CMM_TILE_ROWS_##R(P, OP, S)

// Accumulators of row I, [rows][64] f32 in memory.
#define CMM_TILE_LOAD_1(I, C0, C1, C2, C3)          \
  "vmovups " #I "*256(%[acc_in]), %%zmm" #C0 "\n"   \
  "vmovups " #I "*256+64(%[acc_in]), %%zmm" #C1 "\n"
#define CMM_TILE_LOAD_2(I, C0, C1, C2, C3) CMM_TILE_LOAD_1(I, C0, C1, C2, C3) \
  "vmovups " #I "*256+128(%[acc_in]), %%zmm" #C2 "\n"                         \
  "vmovups " #I "*256+192(%[acc_in]), %%zmm" #C3 "\n"
#define CMM_TILE_STORE_1(I, C0, C1, C2, C3)         \
  "vmovups %%zmm" #C0 ", " #I "*256(%[acc_out])\n"  \
  "vmovups %%zmm" #C1 ", " #I "*256+64(%[acc_out])\n"
#define CMM_TILE_STORE_2(I, C0, C1, C2, C3) CMM_TILE_STORE_1(I, C0, C1, C2, C3) \
  "vmovups %%zmm" #C2 ", " #I "*256+128(%[acc_out])\n"                          \
  "vmovups %%zmm" #C3 ", " #I "*256+192(%[acc_out])\n"
#define CMM_TILE_CLEAR_1(I, C0, C1, C2, C3)                   \
  "vpxord %%zmm" #C0 ", %%zmm" #C0 ", %%zmm" #C0 "\n"         \
  "vpxord %%zmm" #C1 ", %%zmm" #C1 ", %%zmm" #C1 "\n"
#define CMM_TILE_CLEAR_2(I, C0, C1, C2, C3) CMM_TILE_CLEAR_1(I, C0, C1, C2, C3) \
  "vpxord %%zmm" #C2 ", %%zmm" #C2 ", %%zmm" #C2 "\n"                           \
  "vpxord %%zmm" #C3 ", %%zmm" #C3 ", %%zmm" #C3 "\n"

#define CMM_TILE_EACH_1(DO)                       DO(0, 8, 9, 10, 11)
#define CMM_TILE_EACH_2(DO) CMM_TILE_EACH_1(DO)   DO(1, 12, 13, 14, 15)
#define CMM_TILE_EACH_3(DO) CMM_TILE_EACH_2(DO)   DO(2, 16, 17, 18, 19)
#define CMM_TILE_EACH_4(DO) CMM_TILE_EACH_3(DO)   DO(3, 20, 21, 22, 23)
#define CMM_TILE_EACH_5(DO) CMM_TILE_EACH_4(DO)   DO(4, 24, 25, 26, 27)
#define CMM_TILE_EACH_6(DO) CMM_TILE_EACH_5(DO)   DO(5, 28, 29, 30, 31)

// Rounds of 4 steps with prefetches between the steps, then the steps that are left.
#define CMM_TILE_ASM(P, R, OP)                                                               \
  asm volatile(                                                                              \
      "test %[acc_in], %[acc_in]\n"                                                          \
      "jz 1f\n" CMM_TILE_EACH_##R(CMM_TILE_LOAD_##P) "jmp 2f\n"                              \
      "1:\n" CMM_TILE_EACH_##R(CMM_TILE_CLEAR_##P)                                           \
      "2:\n"                                                                                 \
      "test %[rounds], %[rounds]\n"                                                          \
      "jz 4f\n"                                                                              \
      ".p2align 5\n"                                                                         \
      "3:\n"                                                                                 \
      CMM_TILE_HINTING_STEP(P, R, OP, 0)                                                     \
      "prefetcht0 512(%[x])\n" CMM_TILE_HINTING_STEP(P, R, OP, 1)                            \
      "add %[next_y_jump0], %[next_y]\n" CMM_TILE_HINTING_STEP(P, R, OP, 2)                  \
      "prefetchw (%[next_acc])\n"                                                            \
      "add %[next_acc_advance], %[next_acc]\n" CMM_TILE_HINTING_STEP(P, R, OP, 3)            \
      "add %[next_y_jump1], %[next_y]\n"                                                     \
      "add $4*%c[step], %[x]\n"                                                              \
      "add $4*128, %[y]\n"                                                                   \
      "dec %[rounds]\n"                                                                      \
      "jnz 3b\n"                                                                             \
      "4:\n"                                                                                 \
      "test %[rest], %[rest]\n"                                                              \
      "jz 6f\n"                                                                              \
      "5:\n" CMM_TILE_STEP(P, R, OP, 0)                                                      \
      "add $%c[step], %[x]\n"                                                                \
      "add $128, %[y]\n"                                                                     \
      "dec %[rest]\n"                                                                        \
      "jnz 5b\n"                                                                             \
      "6:\n" CMM_TILE_EACH_##R(CMM_TILE_STORE_##P)                                           \
      : [x] "+r"(x), [y] "+r"(y), [rounds] "+r"(rounds), [rest] "+r"(rest),                  \
        [next_y] "+r"(hints.next_y), [next_acc] "+r"(hints.next_acc)                         \
      : [panel1] "r"(panel1), [acc_in] "r"(args.acc_in), [acc_out] "r"(args.acc_out),        \
        [next_y_advance] "r"(hints.next_y_advance), [next_y_jump0] "r"(hints.next_y_jump[0]), \
        [next_y_jump1] "r"(hints.next_y_jump[1]),                                            \
        [next_acc_advance] "r"(hints.next_acc_advance), [step] "i"(4 * R)                    \
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",      \
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16",       \
        "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",     \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31")

#define CMM_TILE_FUNCTION(NAME, R, OP)                                          \
  void NAME##_##R(const TileArgs& args) {                                       \
    std::int64_t rounds = args.num_steps / 4;                                   \
    std::int64_t rest = args.num_steps % 4;                                     \
    TileHints hints = tile_hints(args, rounds, R);                              \
    const void* x = args.x;                                                     \
    const std::byte* y = args.panel0;                                           \
    const std::int64_t panel1 = args.panel1 == nullptr                          \
                                    ? 0                                         \
                                    : reinterpret_cast<std::intptr_t>(args.panel1) - \
                                          reinterpret_cast<std::intptr_t>(args.panel0); \
    if (args.panel1 != nullptr) {                                               \
      CMM_TILE_ASM(2, R, OP);                                                   \
    } else {                                                                    \
      CMM_TILE_ASM(1, R, OP);                                                   \
    }                                                                           \
  }
// clang-format on

// Defines NAME_1 ... NAME_6, the tile functions of 1 to 6 rows with multiply-add OP.
#define CMM_TILE_FUNCTIONS(NAME, OP) \
  CMM_TILE_FUNCTION(NAME, 1, OP)     \
  CMM_TILE_FUNCTION(NAME, 2, OP)     \
  CMM_TILE_FUNCTION(NAME, 3, OP)     \
  CMM_TILE_FUNCTION(NAME, 4, OP)     \
  CMM_TILE_FUNCTION(NAME, 5, OP)     \
  CMM_TILE_FUNCTION(NAME, 6, OP)
#define CMM_TILE_TABLE(NAME) \
  { nullptr, NAME##_1, NAME##_2, NAME##_3, NAME##_4, NAME##_5, NAME##_6 }

}  // namespace
}  // namespace cmm::gemm
