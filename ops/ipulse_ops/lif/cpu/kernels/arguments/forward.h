// The arguments of the loops of the forward pass.
#ifndef IPULSE_OPS_LIF_CPU_FORWARD_ARGUMENTS_H
#define IPULSE_OPS_LIF_CPU_FORWARD_ARGUMENTS_H

#include <cstdint>

#include "panels.h"

namespace lif {

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
  float *adaptation;    // as u, and null together with it
  const uint8_t *kept;  // row 0 of the sample, first neuron of the layer; or null
  const int64_t *start; // of row 0 of the sample
  int first_neuron;
  float *kept_membranes;                    // u of the neurons in `kept`, by `start`
  float *v_trace, *i_trace, *current_trace; // [steps][width], or null
};

// One sample, one panel: the adaptation of every step, from the resets.
struct AdaptationReplay {
  int steps, vectors;
  const uint8_t *reset_bits; // of row 0 and this panel
  int64_t row_bytes;
  const float *decay; // [width]
  float *trace;       // [steps][width], written
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

} // namespace lif

#endif
