// The inner loops, once, over a vector type `Vec` that the including file defines in an unnamed
// namespace. No part of the standard library with code of its own is used here: the linker might
// keep the copy that was compiled for more features than the machine has.
#ifndef IPULSE_OPS_LIF_CPU_PANEL_H
#define IPULSE_OPS_LIF_CPU_PANEL_H

#include "adam_step.h"
#include "adaptation.h"
#include "blocks.h"
#include "conv_loops.h"
#include "dense_product.h"
#include "general_backward.h"
#include "general_forward.h"
#include "pack.h"
#include "panel_backward.h"
#include "panel_forward.h"
#include "sampled_product.h"
#include "slots.h"
#include "weight_gradient.h"

namespace {

// The table that the including file exports.
constexpr Kernel make_kernel(const char *name) {
  return {name,
          L,
          Vec::product_rows,
          Vec::product_vectors,
          pack,
          pack_transposed,
          transpose,
          lif_forward,
          leaky_forward,
          general_forward,
          replay_adaptation,
          select_slots,
          gather,
          count_bits,
          list_bits,
          leaky_backward,
          sampled_product,
          sparse_backward,
          dense_product,
          add_blocks,
          spread_products,
          dense_backward,
          general_backward,
          weight_gradient,
          adam_step,
          conv_kernel()};
}

} // namespace

#endif
