// What check_program() finds: a sound program with one thing changed.
#include <functional>

#include "tpu/interpret/small_programs.hpp"

namespace cmm::tpu {
namespace {

// A program with one statement of each kind, in the order of Statement::what.
struct Sound {
  Program program;
  template <class What>
  What& statement(std::size_t number) {
    return std::get<What>(program.body[number].what);
  }
};
enum At : std::size_t {
  kSend,
  kAwaitDeparture,
  kSignal,
  kAwait,
  kRead,
  kLoad,
  kZero,
  kMatmul,
  kAdd,
  kSelect,
  kCast,
  kReshape,
  kStore,
  kIf,
  kFor,
  kScope,
  kPrint
};

Sound sound() {
  Writer w(4);
  w.program().grid = {2};
  const int x = w.hbm_input({32, 128}, Element::kBF16);
  const int out = w.hbm_output({64, 128}, Element::kBF16);
  const int slot = w.vmem({2, 16, 128}, Element::kBF16);
  const int table = w.buffer({"table", Memory::kSmem, Element::kS32, {4}, Role::kInput});
  const int dma = w.dma("dma", {2}), barrier = w.barrier();
  const Scalar zero = w.c(0), one = w.c(1), me = w.device_id();
  const Scalar next = w.rem(w.add(me, one), w.c(4));
  w.send(w.rows(x, zero, 16), w.rows(out, w.mul(w.grid_index(0), w.c(16)), 16), next, {dma, {zero}},
         {dma, {one}});
  w.await_departure(w.rows(x, zero, 16), {dma, {zero}});
  w.signal_to(barrier, next);
  w.await_count(barrier, 1);
  const Scalar read = w.read(table, {w.c(3)});
  const Slice place{slot, {one, zero, zero}, {1, 16, 128}, 1};
  const Vector a = w.load(place);
  const Vector b = w.zero({Element::kBF16, {128, 128}});
  const Vector product = w.matmul(a, b, false);
  const Vector sum = w.add(product, product);
  const Vector chosen = w.select(w.less(read, me), sum, product);
  const Vector rounded = w.cast(chosen, Element::kBF16);
  const Vector flat = w.reshape(rounded, {1, 16, 128});
  w.store(flat, {slot, {zero, zero, zero}, {1, 16, 128}, 0});
  w.when(w.equal(read, one), [&] { w.debug_print("then", {}); });
  w.loop(zero, read, [&](Scalar index) { w.debug_print("{}", {index}); });
  w.scope("scope", [&] { w.debug_print("within", {}); });
  w.debug_print("{}", {read});
  return {w.finish()};
}

Scalar add_constant(Program& program, std::int64_t value) {
  program.scalars.push_back({.op = ScalarOp::kConstant, .immediate = value});
  return {static_cast<int>(program.scalars.size()) - 1};
}

TEST(CheckProgram, FindsNothingInASoundProgram) {
  EXPECT_EQ(check_program(sound().program, v6e()), "");
}

struct Change {
  std::string text;  // part of what is told
  std::function<void(Sound&)> make;
};

void expect_all(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    Sound changed = sound();
    change.make(changed);
    const std::string told = check_program(changed.program, v6e());
    EXPECT_NE(told.find(change.text), std::string::npos)
        << "expected: " << change.text << "\ntold: " << told;
    // The devices rely on the check: nothing of such a program is run.
    const RunResult result = run(changed.program, v6e(), {}, {});
    ASSERT_TRUE(result.fault) << change.text;
    EXPECT_EQ(result.fault->kind, Fault::Kind::kInvalid);
    EXPECT_EQ(result.fault->text, told);
  }
}

TEST(CheckProgram, FindsWhatIsDeclaredWrongly) {
  expect_all({
      {"num_devices is 0", [](Sound& s) { s.program.num_devices = 0; }},
      {"buffer x has shape []", [](Sound& s) { s.program.buffers[0].shape = {}; }},
      {"buffer x has shape [0, 128]", [](Sound& s) { s.program.buffers[0].shape[0] = 0; }},
      {"1 to 6 dimensions", [](Sound& s) { s.program.buffers[0].shape.assign(7, 1); }},
      {"slot is scratch in hbm", [](Sound& s) { s.program.buffers[2].memory = Memory::kHbm; }},
      {"out is an output in smem", [](Sound& s) { s.program.buffers[1].memory = Memory::kSmem; }},
      {"semaphore dma has shape [0]", [](Sound& s) { s.program.semaphores[0].shape = {0}; }},
      {"without a collective id", [](Sound& s) { s.program.collective_id.reset(); }},
      {"barrier barrier is an array", [](Sound& s) { s.program.semaphores[1].shape = {2}; }},
      {"barrier is a second barrier",
       [](Sound& s) { s.program.semaphores.push_back(s.program.semaphores[1]); }},
      {"the grid is [0]", [](Sound& s) { s.program.grid = {0}; }},
  });
}

TEST(CheckProgram, FindsWrongScalars) {
  expect_all({
      {"index 0 of a grid of 0 dimensions", [](Sound& s) { s.program.grid = {}; }},
      {"constant 2147483648 beyond 32 bits",
       [](Sound& s) { add_constant(s.program, std::int64_t{1} << 31); }},
      {"which is not made before it",
       [](Sound& s) {
         const int self = static_cast<int>(s.program.scalars.size());
         s.program.scalars.push_back({.op = ScalarOp::kAdd, .a = {0}, .b = {self}});
       }},
      {"which is not made before it",
       [](Sound& s) { s.program.scalars.push_back({.op = ScalarOp::kSelect}); }},
      {"needs a truth value",
       [](Sound& s) {
         const Scalar two = add_constant(s.program, 2);
         s.program.scalars.push_back({.op = ScalarOp::kAnd, .a = two, .b = two});
       }},
      {"needs an integer",
       [](Sound& s) {
         const Scalar truth = s.statement<If>(kIf).condition;
         s.program.scalars.push_back({.op = ScalarOp::kAdd, .a = truth, .b = truth});
       }},
      {"a printed value is no scalar",
       [](Sound& s) { s.statement<DebugPrint>(kPrint).values = {Scalar{}}; }},
      {"which has no value here",  // the index of the loop, after the loop
       [](Sound& s) { s.statement<DebugPrint>(kPrint).values = {s.statement<For>(kFor).index}; }},
      {"which has no value here",  // what is read later
       [](Sound& s) {
         s.statement<Signal>(kSignal).amount = s.statement<ReadScalar>(kRead).result;
       }},
      {"is made twice", [](Sound& s) { s.program.body.push_back(s.program.body[kRead]); }},
      {"the result is no variable",
       [](Sound& s) { s.statement<ReadScalar>(kRead).result = Scalar{0}; }},
      {"the condition is no truth value",
       [](Sound& s) { s.statement<If>(kIf).condition = add_constant(s.program, 2); }},
      {"the end is no integer",
       [](Sound& s) { s.statement<For>(kFor).end = s.statement<If>(kIf).condition; }},
  });
}

TEST(CheckProgram, FindsWrongCopies) {
  const auto send = [](Sound& s) -> StartCopy& { return s.statement<StartCopy>(kSend); };
  expect_all({
      {"there is no buffer 9", [&](Sound& s) { send(s).source.buffer = 9; }},
      {"1 offsets and 2 sizes of x", [&](Sound& s) { send(s).source.offsets.pop_back(); }},
      {"an offset is no scalar", [&](Sound& s) { send(s).source.offsets[0] = {}; }},
      {"from shape [8, 128] to [16, 128]", [&](Sound& s) { send(s).source.sizes[0] = 8; }},
      {"from bf16 to f32", [&](Sound& s) { s.program.buffers[1].element = Element::kF32; }},
      {"40 from 0 on of dimension 0 of x", [&](Sound& s) { send(s).source.sizes[0] = 40; }},
      {"16 from 24 on of dimension 0 of x, which is 32",
       [&](Sound& s) { send(s).source.offsets[0] = add_constant(s.program, 24); }},
      {"16 from -8 on of dimension 0",
       [&](Sound& s) { send(s).source.offsets[0] = add_constant(s.program, -8); }},
      {"is squeezed and has size 16", [&](Sound& s) { send(s).source.num_squeezed = 1; }},
      {"3 squeezed dimensions of x", [&](Sound& s) { send(s).source.num_squeezed = 3; }},
      {"input x is written", [&](Sound& s) { send(s).target = send(s).source; }},
      {"there is no semaphore 2", [&](Sound& s) { send(s).arrival.array = 2; }},
      {"semaphore barrier does not count bytes",
       [&](Sound& s) {
         send(s).arrival = {1, {}};
       }},
      {"0 indices of semaphore dma", [&](Sound& s) { send(s).arrival.index = {}; }},
      {"index 2 of semaphore dma",
       [&](Sound& s) { send(s).remote->departure.index[0] = add_constant(s.program, 2); }},
      {"device 4 of 4", [&](Sound& s) { send(s).remote->device = add_constant(s.program, 4); }},
      {"semaphore barrier does not count bytes",
       [](Sound& s) {
         s.statement<AwaitCopy>(kAwaitDeparture).semaphore = {1, {}};
       }},
      {"semaphore dma counts bytes",
       [&](Sound& s) { s.statement<Signal>(kSignal).semaphore = send(s).arrival; }},
      {"semaphore dma counts bytes",
       [&](Sound& s) { s.statement<Await>(kAwait).semaphore = send(s).arrival; }},
  });
}

TEST(CheckProgram, FindsWrongVectors) {
  const auto to_vmem = [](Sound& s) { s.program.buffers[3].memory = Memory::kVmem; };
  expect_all({
      {"scalars are read from smem", to_vmem},
      {"scalars are int32", [](Sound& s) { s.program.buffers[3].element = Element::kF32; }},
      {"index 4 of table",
       [](Sound& s) { s.statement<ReadScalar>(kRead).index[0] = add_constant(s.program, 4); }},
      {"vectors are loaded from vmem",
       [](Sound& s) { s.program.buffers[2].memory = Memory::kSmem; }},
      {"v0 is bf16 [16, 64], the slice bf16 [16, 128]",
       [](Sound& s) { s.program.vectors[0].shape[1] = 64; }},
      {"there is no vector v-1", [](Sound& s) { s.statement<Matmul>(kMatmul).lhs = {}; }},
      {"v1 has no value here",
       [](Sound& s) { s.program.body.erase(s.program.body.begin() + kZero); }},
      {"v0 is made twice", [](Sound& s) { s.program.body.push_back(s.program.body[kLoad]); }},
      {"product of [16, 128] and [128, 128] to [16, 64]",
       [](Sound& s) { s.program.vectors[2].shape[1] = 64; }},
      {"product of [16, 128] and [64, 128] to [16, 128]",
       [](Sound& s) { s.program.vectors[1].shape[0] = 64; }},
      {"product of bf16 and f32 to f32",
       [](Sound& s) { s.program.vectors[1].element = Element::kF32; }},
      {"product of bf16 and bf16 to bf16",
       [](Sound& s) { s.program.vectors[2].element = Element::kBF16; }},
      {"sum of [16, 128]", [](Sound& s) { s.program.vectors[3].shape[0] = 8; }},
      {"choice of [16, 128]", [](Sound& s) { s.program.vectors[4].shape[0] = 8; }},
      {"cast from f32 [16, 128] to int8 [16, 128]",
       [](Sound& s) { s.program.vectors[5].element = Element::kS8; }},
      {"reshape from bf16 [16, 128] to bf16 [2, 128]",
       [](Sound& s) {
         s.program.vectors[6].shape = {2, 128};
       }},
      {"v6 is bf16 [1, 16, 128], the slice bf16 [16, 128]",
       [](Sound& s) { s.statement<StoreVector>(kStore).to.num_squeezed = 1; }},
      {"input slot is written", [](Sound& s) { s.program.buffers[2].role = Role::kInput; }},
  });
}

TEST(CheckProgram, FindsConstantsThatAreNoWholeTiles) {
  expect_all({
      {"offset 4 of dimension 0 of x is no multiple of 8",
       [](Sound& s) {
         s.statement<StartCopy>(kSend).source.offsets[0] = add_constant(s.program, 4);
       }},
      {"size 12 of dimension 0 of x is no multiple of 8",
       [](Sound& s) {
         StartCopy& send = s.statement<StartCopy>(kSend);
         send.source.sizes[0] = send.target.sizes[0] = 12;
       }},
      {"offset 64 of dimension 1 of x is no multiple of 128",
       [](Sound& s) {
         s.program.buffers[0].shape[1] = 256;
         s.statement<StartCopy>(kSend).source.offsets[1] = add_constant(s.program, 64);
       }},
  });
}

// A whole dimension may have any size.
TEST(CheckProgram, LetsWholeDimensionsBe) {
  Writer w;
  const int x = w.hbm_input({3, 12, 200}), slot = w.vmem({12, 200}), come = w.dma("come");
  const Scalar zero = w.c(0);
  w.copy({x, {w.c(1), zero, zero}, {1, 12, 200}, 1}, w.whole(slot), come);
  EXPECT_EQ(check_program(w.finish(), v6e()), "");
}

// The statement at fault is told, with its note.
TEST(CheckProgram, TellsTheStatement) {
  Writer w;
  const int slot = w.vmem({8, 128});
  w.scope("outer", [&] { w.note("first rows", [&] { w.load(w.rows(slot, w.c(8), 8)); }); });
  EXPECT_EQ(check_program(w.finish(), v6e()),
            "v0 = load slot[8 : +8, 0 : +128] (first rows):\n"
            "8 from 8 on of dimension 0 of slot, which is 8");
}

}  // namespace
}  // namespace cmm::tpu
