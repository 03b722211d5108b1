#include "rank_work.hpp"

#include "report.hpp"

namespace cmm::bench {

RankWork::RankWork(const Setup& setup)
    : setup_(setup),
      n_local_(setup.problem.n_local(setup.axis.rank())),
      fused_(Plan::make(setup.axis, shape(), options(setup.problem.algorithm))),
      direct_(Plan::make(setup.axis, shape(), options(Algorithm::kDirect))),
      alone_(Plan::make(Mesh::threads({{"one", 1}})[0].axis("one"), shape(),
                        options(Algorithm::kDirect))),
      gathered_(setup.problem.m * setup.problem.k * setup.problem.elem_bytes()),
      out_(setup.problem.m * n_local_ * setup.problem.elem_bytes()) {}

ProblemShape RankWork::shape() const {
  const Case& c = setup_.problem;
  return {.m = c.m, .k = c.k, .n_local = {n_local_}, .dtype = c.dtype};
}

cmm::Options RankWork::options(Algorithm algorithm) const {
  return {.algorithm = algorithm, .threads = setup_.problem.threads_per_rank};
}

std::vector<Weights> pack_copies(const Case& c, int rank) {
  const std::int64_t n_local = c.n_local(rank);
  AlignedBuffer y(c.k * n_local * c.elem_bytes());
  fill_random(y, c.dtype);
  std::vector<Weights> copies;
  for (int copy = 0; copy < c.num_copies; ++copy) {
    copies.push_back(Weights::pack(StridedMatrixRef(y.data(), c.dtype, c.k, n_local, n_local, 1)));
  }
  return copies;
}

ConstMatrixRef rows_of(const ConstMatrixRef& x, const Case& c, int rank) {
  const std::int64_t at = c.first_row(rank) * x.row_stride * c.elem_bytes();
  return {static_cast<const std::byte*>(x.data) + at, x.dtype, c.num_rows(rank), x.cols,
          x.row_stride};
}

}  // namespace cmm::bench
