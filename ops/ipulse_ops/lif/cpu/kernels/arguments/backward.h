// The arguments of the loops of the backward pass, and of the update of the weights.
#ifndef IPULSE_OPS_LIF_CPU_BACKWARD_ARGUMENTS_H
#define IPULSE_OPS_LIF_CPU_BACKWARD_ARGUMENTS_H

#include <cstdint>

#include "panels.h"

namespace lif {

#define LIF_COUNT(name) +1
constexpr int CONSTANT_SUMS = 0 LIF_GRADIENTS(LIF_COUNT); // of a neuron: gradients by its constants
#undef LIF_COUNT

// One sample, one panel of the readout.
struct LeakyBackward {
  int steps, vectors, columns;
  const float *grad; // dL/du of step 0 and this panel
  int64_t grad_stride;
  Constants constants;
  float *grad_current; // row of step 0, [steps][width]
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
  int truncate;       // steps after which the gradient is cut, 0: never
  const LifSurrogate *surrogate;
  float *grad_i; // as lambda, and null together with it
  bool detach_adaptation;
  float *grad_adaptation;        // as lambda, and null together with it
  const float *adaptation_trace; // [steps][width], if the layer adapts
  const float *extra;            // [width], added to dL/ds of step `first`; or null
  const float *grad_u;           // of step 0 and this panel, or null
  int64_t grad_u_stride;
  const float *v_trace, *i_trace, *current_trace; // [steps][width], if sums is not null
  // [CONSTANT_SUMS][width], added to: dL/dconstant in the order of LIF_GRADIENTS; or null.
  float *sums;
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
  bool continues;            // the sums go on from `grad`, and do not begin at 0
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

} // namespace lif

#endif
