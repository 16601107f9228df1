// The interface of an instruction set: the inner loops of a network over one panel of neurons.
//
// `arguments/` describes what the loops read and write.
#ifndef IPULSE_OPS_LIF_CPU_KERNEL_H
#define IPULSE_OPS_LIF_CPU_KERNEL_H

#include <cstdint>

#include "arch.h"
#include "interface/lif.h"
#include "kernels/arguments/backward.h"
#include "kernels/arguments/conv.h"
#include "kernels/arguments/forward.h"
#include "kernels/arguments/products.h"

namespace lif {

struct Kernel {
  const char *name;
  int lanes;
  int product_rows;  // of a dense product, held in registers
  int strip_vectors; // at most, of a strip of pack_transposed
  void (*pack)(const float *weights, int64_t rows, int64_t columns, int first, int width,
               int storage, float *panel);
  // In an order of its own, for dense_product; bfloat16 is rounded to, but not stored.
  void (*pack_transposed)(const float *weights, int64_t rows, int64_t columns, int first, int width,
                          int storage, float *panel);
  // Part of a strip of pack_transposed: some neurons' weights, rows that lie `stride` apart.
  void (*transpose)(const float *weights, int64_t stride, int64_t used, int64_t columns, int strip,
                    int storage, float *to);
  void (*lif_forward)(const PanelForward &);
  void (*leaky_forward)(const PanelForward &);
  void (*general_forward)(const PanelForward &);
  void (*replay_adaptation)(const AdaptationReplay &);
  void (*select)(const SlotSelection &);
  void (*gather)(const MembraneGather &);
  int64_t (*count_bits)(const uint8_t *bits, int64_t bytes);
  // start[r], written: where row r's ids begin, the first ones at `first`. Up to `end` is free to
  // write to.
  void (*list_bits)(const uint8_t *bits, int64_t rows, int64_t row_bytes, int64_t first,
                    int64_t *start, int32_t *ids, const int32_t *end);
  void (*leaky_backward)(const LeakyBackward &);
  void (*sampled_product)(const SampledProduct &);
  void (*sparse_backward)(const PanelBackward &);
  void (*dense_product)(const DenseProduct &);
  void (*add_blocks)(const BlockSums &);
  void (*spread_products)(const ProductSpread &);
  void (*dense_backward)(const PanelBackward &);
  void (*general_backward)(const PanelBackward &);
  void (*weight_gradient)(const WeightGradient &);
  void (*adam)(const AdamBlock &);
  ConvKernel conv;
};

#define LIF_KERNEL(name, arch) const Kernel &kernel_##name();
#include "kernels.inc"
#undef LIF_KERNEL

// The first kernel of the list that needs no feature outside the mask.
const Kernel &pick_kernel(uint64_t arch);

// How a kernel cuts a layer, or the readout, that has the number.
Panels cut(const Kernel &kernel, const LifNetwork &network, int number);

} // namespace lif

#endif
