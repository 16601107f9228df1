// The arguments of the products of a layer's gradient and its weights.
#ifndef IPULSE_OPS_LIF_CPU_PRODUCTS_H
#define IPULSE_OPS_LIF_CPU_PRODUCTS_H

#include <cstdint>

#include "panels.h"

namespace lif {

// dL/dI of a layer.
struct LayerGradient {
  Panels panels;
  const float *grad_current; // [panels][rows][width]
  int64_t rows;
};

// Samples first to last: dL/ds of the neurons in slots times their surrogate.
struct SampledProduct {
  int steps, delay, first, last;
  LayerGradient next;
  int storage;          // LifWeights
  const float *weights; // of the next layer, [panels][neurons], packed
  int neurons;
  const int64_t *start;   // [rows + 1]: of a row in ids, membranes and product
  const int32_t *ids;     // neurons in slots, ascending
  const float *membranes; // null: without the surrogate
  const float *threshold; // [neurons]
  float slope;
  bool writes;    // the product of the first panel, instead of adding to what is there
  float *product; // unless it is written, the loss's direct derivative by the spikes on entry
};

// One panel, consecutive rows: dL/dI of the next layer times its weights.
constexpr int BLOCK_DEPTH = 128; // columns; a whole number of panels in every kernel

struct DenseProduct {
  int vectors;
  int64_t first_row, rows;
  LayerGradient next;
  const float *weights; // of the next layer, as pack_transposed leaves them
  // Where it goes, [rows][width] each, written or added or subtracted; the second may be null.
  float *grad_spikes[2];
  bool adds[2], subtracts[2];
  bool in_blocks; // a sum for each BLOCK_DEPTH columns, added or subtracted; else one for all
};

// Adds the four blocks of an operand to the operands of Strassen's seven products.
struct BlockSums {
  bool right;    // the right operand
  int64_t count; // floats of a block, whole vectors
  const float *from[4];
  float *to; // [7][stride], written
  int64_t stride;
};

// Adds Strassen's seven products to the four blocks of the result.
struct ProductSpread {
  int64_t count;     // floats of a block, whole vectors
  float *to[4];      // written
  const float *from; // [7][stride]
  int64_t stride;
};

} // namespace lif

#endif
