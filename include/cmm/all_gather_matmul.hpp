// The operation: out_r = epilogue(all_gather(x) * y_r) on every rank r of an axis.
#pragma once

#include <span>

#include "cmm/matrix.hpp"
#include "cmm/plan.hpp"
#include "cmm/weights.hpp"

namespace cmm {

struct CallOptions {
  MatrixRef gathered = {};  // [m, k], dtype of x: receives the gathered x in rank order
};

// Collective over the plan's axis; complete on return. Peers read x_local in place while the call
// runs and no longer once it has returned.
//   x_local  [rows_of(rank, m), k]  this rank's rows; m is out.rows
//   y        [k, n_local]           one per right side, in the order of the plan; all of one engine
//   out      [m, n_local]           one per right side (SwiGLU: one); never read; must not overlap
//                                   x_local of any rank
// Errors: kInvalidArgument before any data moves (the axis is then dead for all its ranks, since
// the peers already wait: they get kPeerFailed with the reason), kBusy when the plan runs a call
// already, kDeadline, kPeerFailed, kMeshDead.
void all_gather_matmul(const Plan& plan, const ConstMatrixRef& x_local, const Weights& y,
                       const MatrixRef& out, const CallOptions& options = {});
void all_gather_matmul(const Plan& plan, const ConstMatrixRef& x_local, std::span<const Weights> y,
                       std::span<const MatrixRef> out, const CallOptions& options = {});

// The gather alone: gathered [m, k] receives all ranks' rows in rank order. Collective, with the
// same rules and errors.
void all_gather(const Plan& plan, const ConstMatrixRef& x_local, const MatrixRef& gathered);

}  // namespace cmm
