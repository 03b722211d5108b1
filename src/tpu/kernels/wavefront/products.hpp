// The products of the wavefront kernel: what one step multiplies.
#pragma once

#include "tpu/kernels/wavefront/actions.hpp"

namespace cmm::tpu::wavefront {

// The tile ops of a step with this body, into its out slot: all in one basic block, over which the
// compiler fills and drains the MXU once. `words` are those of the product.
//
// Where k is split, sums stay in the accumulator from one k block to the next. The first does not
// read it (a select, which costs nothing, rather than a branch), the last does not write it: its
// sums go to the out slot. That makes two forms of a body, the last k block and the others.
void write_product(const Context& context, int body, const ScalarWords& words);

// Whether this product's sums are complete, so that its out slot is to be stored.
Scalar is_complete(const Context& context, const ScalarWords& words);

}  // namespace cmm::tpu::wavefront
