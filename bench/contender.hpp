// The engines that the sweep compares: ours and libraries, each with y packed the way it likes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cmm/matrix.hpp"

namespace cmm::bench {

class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string name() const = 0;
  // What exactly runs: version, kernel.
  virtual std::string description() const = 0;
  virtual bool multiplies(DType dtype) const = 0;

  // Keeps `num_copies` copies of y [k, n], so that they can be used in turn, for products of m rows
  // on `num_threads` threads. y stays valid.
  struct Job {
    ConstMatrixRef y;
    std::int64_t m = 0;
    int num_copies = 1;
    int num_threads = 1;
  };
  virtual void prepare(const Job& job) = 0;
  // out [m, n] f32 = x [m, k] * copy `copy` of y. Neither has gaps between rows.
  virtual void multiply(const ConstMatrixRef& x, const MatrixRef& out, int copy) = 0;
  virtual void release() = 0;  // the copies
};

// Ours first, then the libraries found on this machine. A library that is missing is named in
// `missing` with the reason. `mkl` is the path of libmkl_rt.
std::vector<std::unique_ptr<Contender>> all_contenders(const std::string& mkl,
                                                       std::vector<std::string>& missing);

// Of blas.cpp; nullptr where missing.
std::unique_ptr<Contender> make_openblas(std::vector<std::string>& missing);
std::unique_ptr<Contender> make_mkl(const std::string& path, std::vector<std::string>& missing);

}  // namespace cmm::bench
