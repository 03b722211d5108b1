// oneDNN, versions 2 and 3, on its OpenMP runtime.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/aligned_buffer.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "gemm/library/library.hpp"

namespace cmm::gemm {
namespace {

using dnnl::memory;

// The layout of packed weights is asked for with this many rows. Version 2.6 answers alike for any.
constexpr std::int64_t kLayoutRows = 256;

// Shapes kept prepared. A caller with more of them pays a look-up in oneDNN's own cache (about
// 0.1 ms) when their turn comes again.
constexpr std::size_t kMaxPrepared = 256;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

[[noreturn]] void rethrow(const dnnl::error& error, const char* doing) {
  const ErrorCode code =
      error.status == dnnl_out_of_memory ? ErrorCode::kOutOfMemory : ErrorCode::kUnsupported;
  throw Error(code, cat("oneDNN failed to ", doing, ": ", error.what()));
}

memory::data_type data_type(DType dtype) {
  if (dtype == DType::kF32) return memory::data_type::f32;
  if (dtype == DType::kBF16) return memory::data_type::bf16;
  throw Error(ErrorCode::kUnsupported, cat("the oneDNN engine multiplies f32 and bf16, not ",
                                           dtype_name(dtype), "; use engine own"));
}

dnnl::matmul::primitive_desc describe(std::int64_t rows, std::int64_t k, std::int64_t n,
                                      const memory::desc& y) {
  const memory::desc x({rows, k}, y.data_type(), memory::format_tag::ab);
  const memory::desc out({rows, n}, memory::data_type::f32, memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  // Our scratchpad: the library's own is shared by all threads and would grow in a call.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), x, y, out, attributes};
#else
  return {dnnl::matmul::desc(x, y, out), attributes, cpu()};
#endif
}

// y without its strange strides: the library takes gaps, but neither overlap nor negative strides.
AlignedBuffer dense_copy(const StridedMatrixRef& y) {
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(y.dtype));
  AlignedBuffer dense(checked_product(checked_product(y.rows, y.cols), elem_bytes));
  const auto* from = static_cast<const std::byte*>(y.data);
  for (std::int64_t i = 0; i < y.rows; ++i) {
    for (std::int64_t j = 0; j < y.cols; ++j) {
      std::memcpy(dense.data() + (i * y.cols + j) * elem_bytes,
                  from + (i * y.row_stride + j * y.col_stride) * elem_bytes,
                  static_cast<std::size_t>(elem_bytes));
    }
  }
  return dense;
}

bool plain_strides(const StridedMatrixRef& y) {
  return (y.col_stride == 1 && y.row_stride >= y.cols) ||
         (y.row_stride == 1 && y.col_stride >= y.rows);
}

// Sets the size of the OpenMP teams that the calling thread starts; the setting is the thread's
// own, so each rank has its team.
class TeamSize {
 public:
  explicit TeamSize(int num_threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(num_threads);
  }
  ~TeamSize() { omp_set_num_threads(before_); }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

// Tiles that multiply bf16: in the processor, and their registers saved by the operating system.
bool has_amx_bf16() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxBF16 = 1u << 22;
  constexpr unsigned kAmxTile = 1u << 24;
  constexpr unsigned kOsXsave = 1u << 27;
  constexpr unsigned kTileState = 3u << 17;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kAmxBF16) == 0 || (d & kAmxTile) == 0) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState;
#else
  return false;
#endif
}

}  // namespace

struct LibraryMatrix::Packed {
  memory::desc layout;
  AlignedBuffer data;
};

bool LibraryMatrix::available() { return true; }

bool LibraryMatrix::preferred(DType dtype) {
  static const bool amx_bf16 = has_amx_bf16();
  return dtype == DType::kBF16 && amx_bf16;
}

LibraryMatrix::LibraryMatrix(const StridedMatrixRef& y) : dtype_(y.dtype), k_(y.rows), n_(y.cols) {
  const memory::data_type type = data_type(dtype_);
  if (k_ == 0 || n_ == 0) return;
  AlignedBuffer dense;
  StridedMatrixRef from = y;
  if (!plain_strides(y)) {
    dense = dense_copy(y);
    from = {dense.data(), dtype_, k_, n_, n_, 1};
  }
  try {
    const memory::desc any({k_, n_}, type, memory::format_tag::any);
    const memory::desc layout = describe(kLayoutRows, k_, n_, any).weights_desc();
    packed_ = std::make_unique<Packed>(
        Packed{layout, AlignedBuffer(static_cast<std::int64_t>(layout.get_size()))});
    // The library only reads it.
    memory source({{k_, n_}, type, memory::dims{from.row_stride, from.col_stride}}, cpu(),
                  const_cast<void*>(from.data));
    memory packed(layout, cpu(), packed_->data.data());
    const TeamSize one(1);  // packing is the caller's work, as with our own panels
    dnnl::stream stream(cpu());
    dnnl::reorder(source, packed).execute(stream, source, packed);
    stream.wait();
  } catch (const dnnl::error& error) {
    rethrow(error, "pack y");
  }
}
LibraryMatrix::~LibraryMatrix() = default;

std::int64_t LibraryMatrix::bytes() const { return packed_ ? packed_->data.bytes() : 0; }

struct LibraryProducts::Prepared {
  // Type, rows, k, n; and the threads, for a product stays with as many as it was prepared for.
  using Shape = std::tuple<DType, std::int64_t, std::int64_t, std::int64_t, int>;
  struct Ready {
    dnnl::matmul multiply;
    memory x, y, out, scratchpad;
  };
  dnnl::stream stream{cpu()};
  std::map<Shape, Ready> products;
  AlignedBuffer scratchpad;  // of the product that needs most

  Ready& ready(const Args& args, const memory::desc& layout, const Shape& shape);
};

LibraryProducts::Prepared::Ready& LibraryProducts::Prepared::ready(const Args& args,
                                                                   const memory::desc& layout,
                                                                   const Shape& shape) {
  if (const auto found = products.find(shape); found != products.end()) return found->second;
  if (products.size() >= kMaxPrepared) products.clear();
  const auto description = describe(args.rows, args.y->k(), args.y->n(), layout);
  const memory::desc needed = description.scratchpad_desc();
  const auto bytes = static_cast<std::int64_t>(needed.get_size());
  if (bytes > scratchpad.bytes()) scratchpad = AlignedBuffer(bytes);
  Ready made{dnnl::matmul(description), memory(description.src_desc(), cpu(), nullptr),
             memory(layout, cpu(), nullptr), memory(description.dst_desc(), cpu(), nullptr),
             memory(needed, cpu(), nullptr)};
  return products.emplace(shape, std::move(made)).first->second;
}

LibraryProducts::LibraryProducts() = default;
LibraryProducts::~LibraryProducts() = default;

void LibraryProducts::multiply(const Args& args) {
  const LibraryMatrix& y = *args.y;
  if (args.rows == 0 || y.n() == 0) return;
  if (y.k() == 0) {
    std::fill_n(args.out, args.rows * y.n(), 0.0f);
    return;
  }
  const TeamSize team(args.num_threads);
  try {
    if (prepared_ == nullptr) prepared_ = std::make_unique<Prepared>();
    Prepared::Ready& ready = prepared_->ready(
        args, y.packed_->layout, {y.dtype(), args.rows, y.k(), y.n(), args.num_threads});
    ready.x.set_data_handle(const_cast<void*>(args.x));  // only read
    ready.y.set_data_handle(y.packed_->data.data());
    ready.out.set_data_handle(args.out);
    ready.scratchpad.set_data_handle(prepared_->scratchpad.data());
    ready.multiply.execute(prepared_->stream, {{DNNL_ARG_SRC, ready.x},
                                               {DNNL_ARG_WEIGHTS, ready.y},
                                               {DNNL_ARG_DST, ready.out},
                                               {DNNL_ARG_SCRATCHPAD, ready.scratchpad}});
    prepared_->stream.wait();
  } catch (const dnnl::error& error) {
    rethrow(error, "multiply");
  }
}

}  // namespace cmm::gemm
