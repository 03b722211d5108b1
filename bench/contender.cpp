#include "contender.hpp"

#include "cmm/cmm.hpp"
#include "gemm/library/library.hpp"

namespace cmm::bench {
namespace {

// Our engine, as a user has it: a plan of one rank.
class Own : public Contender {
 public:
  std::string name() const override { return "own"; }
  std::string description() const override {
    return "this library, instruction set " + std::string(isa_name(default_isa()));
  }
  bool multiplies(DType) const override { return true; }

  void prepare(const Job& job) override {
    const Mesh mesh = Mesh::threads({{"one", 1}})[0];
    plan_ = std::make_unique<Plan>(Plan::make(mesh.axis("one"),
                                              {.m = job.m,
                                               .k = job.y.rows,
                                               .n_local = {job.y.cols},
                                               .dtype = job.y.dtype,
                                               .out_dtype = DType::kF32},
                                              {.threads = job.num_threads}));
    // Packed for any m; anew only for other weights or another number of copies.
    if (y_ == job.y.data && weights_.size() == static_cast<std::size_t>(job.num_copies)) return;
    weights_.clear();
    y_ = job.y.data;
    for (int copy = 0; copy < job.num_copies; ++copy) {
      weights_.push_back(Weights::pack(job.y, {.engine = Engine::kOwn}));
    }
  }
  void multiply(const ConstMatrixRef& x, const MatrixRef& out, int copy) override {
    all_gather_matmul(*plan_, x, weights_[static_cast<std::size_t>(copy)], out);
  }
  void release() override {
    weights_.clear();
    y_ = nullptr;
  }

 private:
  std::unique_ptr<Plan> plan_;
  std::vector<Weights> weights_;
  const void* y_ = nullptr;
};

// oneDNN itself: packed weights, no copies of x or out around the call.
class OneDnn : public Contender {
 public:
  std::string name() const override { return "onednn"; }
  std::string description() const override { return "oneDNN, packed weights, OpenMP"; }
  bool multiplies(DType dtype) const override {
    if (dtype == DType::kF16) return false;
    try {
      const std::uint32_t zero = 0;
      const gemm::LibraryMatrix matrix({&zero, dtype, 1, 1, 1, 1});
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void prepare(const Job& job) override {
    num_threads_ = job.num_threads;
    if (y_ == job.y.data && weights_.size() == static_cast<std::size_t>(job.num_copies)) return;
    weights_.clear();
    y_ = job.y.data;
    for (int copy = 0; copy < job.num_copies; ++copy) {
      weights_.push_back(std::make_unique<gemm::LibraryMatrix>(job.y));
    }
  }
  void multiply(const ConstMatrixRef& x, const MatrixRef& out, int copy) override {
    products_.multiply({.y = weights_[static_cast<std::size_t>(copy)].get(),
                        .x = x.data,
                        .rows = x.rows,
                        .out = static_cast<float*>(out.data),
                        .num_threads = num_threads_});
  }
  void release() override {
    weights_.clear();
    y_ = nullptr;
  }

 private:
  gemm::LibraryProducts products_;
  std::vector<std::unique_ptr<gemm::LibraryMatrix>> weights_;
  const void* y_ = nullptr;
  int num_threads_ = 1;
};

}  // namespace

std::vector<std::unique_ptr<Contender>> all_contenders(const std::string& mkl,
                                                       std::vector<std::string>& missing) {
  std::vector<std::unique_ptr<Contender>> all;
  all.push_back(std::make_unique<Own>());
  if (engine_available(Engine::kOneDnn)) {
    all.push_back(std::make_unique<OneDnn>());
  } else {
    missing.push_back("onednn: not in this build (packages libdnnl-dev, ocl-icd-opencl-dev)");
  }
  if (auto openblas = make_openblas(missing)) all.push_back(std::move(openblas));
  if (auto library = make_mkl(mkl, missing)) all.push_back(std::move(library));
  return all;
}

}  // namespace cmm::bench
