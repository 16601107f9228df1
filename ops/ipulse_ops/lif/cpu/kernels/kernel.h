// The interface of an instruction set: the inner loops of a network over one panel of neurons.
//
// A panel is a run of neurons whose constants and weights are packed side by side, 1, 2, 4 or 8
// vectors wide: [inputs][width], so that a spike reads one short contiguous row, a panel of weights
// stays in the L2 cache for all samples and steps, and the currents of a step stay in registers.
// Padding neurons have weights 0 and thresholds that nothing reaches.
//
// Weights stored as bfloat16 take half of that: a word of 32 bits holds a lane of two neighbouring
// vectors, the first's in its lower half. Either is widened by one instruction, and that loads
// both. A panel of a single vector leaves the upper halves 0.
//
// Rows: row b * steps + t is step t of sample b. A set of neurons is a row of bits, bit n of a row
// is neuron n; a row has row_bytes, a multiple of 16.
#ifndef IPULSE_OPS_LIF_CPU_KERNEL_H
#define IPULSE_OPS_LIF_CPU_KERNEL_H

#include <cstdint>

#include "arch.h"
#include "bindings/lif.h"

namespace lif {

constexpr int MAX_WIDTH = 128; // neurons of a panel

struct Panels {
  int neurons;
  int vectors; // of a panel: 1, 2, 4 or 8
  int width;   // neurons of a panel
  int count;

  int first(int panel) const { return panel * width; }
  int columns(int panel) const { // without the padding
    int rest = neurons - panel * width;
    return rest < width ? rest : width;
  }
};

// Words of 32 bits in a row of a packed panel. storage: LifWeights.
inline int64_t row_words(const Panels &panels, int storage) {
  bool in_pairs = storage == LIF_WEIGHTS_BFLOAT16 && panels.vectors > 1;
  return in_pairs ? panels.width / 2 : panels.width;
}

struct Constants { // of one panel, [width]
  const float *decay, *scale, *threshold, *second;
  const float *synapse_decay, *bias; // null: none
};

// One sample, one panel.
struct PanelForward {
  int steps, delay, vectors, inputs;
  int storage;          // LifWeights: of both matrices
  const float *weights; // [inputs], packed
  const int32_t *ids;   // spikes of step t: ids[begin[t]] up to ids[end[t]]
  const int64_t *begin, *end;
  Constants constants;
  uint8_t *above;    // bits of u > threshold in row 0 and this panel
  uint8_t *gate;     // likewise u > second threshold, or null
  int64_t row_bytes; // from step to step
  float *membranes;  // null; or u, of all neurons [steps][width], or of the gate's packed
  float *readout;    // u of step 0 and this panel: of a readout, or null
  int64_t readout_stride;
  int columns;
  // Read by general_forward alone; `above` and `gate` may be null there.
  int first, last;           // steps to run
  int reset;                 // LifReset
  const uint8_t *reset_bits; // of row 0 and this panel, read one step later; null: nobody
  const float *recurrent;    // [neurons], packed, or null
  const int32_t *own_ids;    // the layer's own spikes, as ids
  const int64_t *own_begin, *own_end;
  float *u, *i;         // [width] of the step before and then of the last; null: from rest
  const uint8_t *kept;  // row 0 of the sample, first neuron of the layer; or null
  const int64_t *start; // of row 0 of the sample
  int first_neuron;
  float *kept_membranes;                    // u of the neurons in `kept`, by `start`
  float *v_trace, *i_trace, *current_trace; // [steps][width], or null
};

// One sample: from bits to spikes in slots.
struct SlotSelection {
  int steps, neurons, slots;
  bool sparse; // some neurons carry no gradient
  bool chosen; // kept and emitted are read and not written
  int64_t row_bytes;
  const uint8_t *above; // row of step 0
  const uint8_t *gate;  // if sparse
  uint8_t *kept;        // written if slots < neurons: the neurons in slots
  uint8_t *emitted;     // written if slots < neurons: the spikes in slots
  int32_t *ids;         // the spikes in slots, step after step
  int32_t *ids_end;     // up to here is this sample's, and may be written to meanwhile
  int64_t first;        // index of ids[0]
  int64_t *start;       // [steps], written: a step's first spike
  int64_t *kept_counts; // [steps], written if sparse
  float *counts;        // of step 0; 2 floats every 2 * batch
  float *dropped;       // of step 0; every batch
  int64_t batch;
};

// One sample: the membranes of the gate, panel by panel, to those in slots by ascending id.
struct MembraneGather {
  int steps;
  Panels panels;
  const float *raw; // of this sample and panel 0
  int64_t raw_stride;
  int64_t row_bytes;
  const uint8_t *gate, *kept;
  int64_t *position; // scratch [panels.count]
  float *membranes, *membranes_end;
};

// One sample, one panel of the readout.
struct LeakyBackward {
  int steps, vectors, columns;
  const float *grad; // dL/du of step 0 and this panel
  int64_t grad_stride;
  Constants constants;
  float *grad_current; // row of step 0, [steps][width]
};

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
struct DenseProduct {
  int vectors;
  int64_t first_row, rows;
  LayerGradient next;
  const float *weights; // of the next layer, as pack_transposed leaves them
  // Where it goes, [rows][width] each, written or added or subtracted; the second may be null.
  float *grad_spikes[2];
  bool adds[2], subtracts[2];
};

// One sample, one panel.
struct PanelBackward {
  int steps, vectors, columns;
  Constants constants;
  bool term;
  const uint8_t *above; // row 0 of the sample, first neuron
  int64_t row_bytes;
  int first_neuron;
  float *grad_current; // row of step 0, [steps][width]
  // In a sparse layer:
  const uint8_t *kept;
  const int64_t *start; // of row 0 of the sample
  const float *product;
  // In a layer where all neurons carry gradient:
  int delay;
  // dL/dI of the next layer times its weights, as it reaches the steps to run, but those behind
  // steps - delay, [steps][width], which may be written to; null: none.
  float *products;
  const float *membranes;   // row of step 0, [steps][width]; with `kept`, of those, by `start`
  const float *grad_spikes; // of the sample's step 0, in slot order, or null
  int64_t grad_spikes_stride;
  float slope;
  // Read by general_backward alone; without a slot or a spike `product` and `membranes` are null.
  int first, last;    // steps to run; the others run all
  float *lambda;      // [width] of the step after and then of the first; null: zeros
  bool spiking;       // not a leaky readout
  int reset;          // LifReset
  int reset_gradient; // LifResetGradient
  const LifSurrogate *surrogate;
  float *grad_i;       // as lambda, and null together with it
  const float *extra;  // [width], added to dL/ds of step `first`; or null
  const float *grad_u; // of step 0 and this panel, or null
  int64_t grad_u_stride;
  const float *v_trace, *i_trace, *current_trace; // [steps][width], if sums is not null
  float *sums; // [4][width], added to: dL/ddecay, dscale, dsynapse_decay, dthreshold; or null
};

// One panel, input channels first to last: sums dL/dI over the rows where a channel spiked.
struct WeightGradient {
  int vectors, columns, first, last, inputs;
  int groups;     // of rows, summed one after the other; at least one
  int begin, end; // of them, those to sum now
  int64_t group_rows;
  const int64_t *start;      // [groups][inputs + 1]
  const uint16_t *rows;      // in the group, ascending
  const float *grad_current; // [rows][width] of this panel, from group `begin` on
  float *sum;                // [last - first][width], kept until the last group; of one not used
  float *grad;               // of channel `first` and this panel, written with the last group
  int64_t grad_stride;
};

// A run of weights; see adam_step.h. What is read and what is written may be the same memory.
struct AdamBlock {
  int64_t count;
  const float *weights, *means, *squares, *gradients;
  float *new_weights, *new_means, *new_squares;
  float rate;                     // with the moments' bias corrected
  float mean_share, square_share; // of the gradient: 1 - beta
  float epsilon;
  float keep; // of the weights: 1 - rate * decay
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
