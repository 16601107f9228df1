// Event-driven convolutions, with LIF neurons or alone, behind a plain C interface: one layer and
// its pool over the whole sequence in one call. The equations are in ../../../conv/reference.py.
//
// Bit equality. Two calls with the same arguments give the same bits on every instruction set and
// with any number of threads: no product is fused with a sum, dot products are summed in sixteen
// lanes, and gradients of weights in CONV_GROUPS groups of samples.
#ifndef IPULSE_OPS_LIF_CPU_CONV_H
#define IPULSE_OPS_LIF_CPU_CONV_H

#include "lif.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CONV_GROUPS = 16 };

// An output y sees the rows y * stride_y - pad_y + dilation_y * k of the input, k < kernel_height.
typedef struct ConvLayer {
  int32_t steps, batch, input_slots;
  int32_t height, width, channels; // of the input
  int32_t channels_first; // 1: an input's id is (c * height + y) * width + x; 0: c innermost
  int32_t kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
  int32_t groups, filters;
  int32_t out_height, out_width;   // of the neurons; an id is (y * out_width + x) * filters + f
  int32_t pool_height, pool_width; // windows that do not overlap
  int32_t delay;                   // steps that its input spikes take, 0 to LIF_MAX_DELAY
  int32_t reset, reset_gradient;
  int32_t gated;   // 1: only neurons above second_threshold carry gradient
  int32_t keep;    // 1: the slots hold gradient-only sites, too
  int32_t threads; // to use; 0: as many as the process may run on
  uint64_t arch;
  float decay, threshold, second_threshold;
  float weight_scale, bias_scale; // of what enters the membrane
  LifSurrogate surrogate;
  int32_t id_bytes;      // 4: ids are int32_t; 2: uint16_t
  const void *ids;       // [time, batch, input_slots]
  const int32_t *counts; // [time, batch]
  const int32_t *filled; // [time, batch]: slots that get a gradient; NULL: the spikes'
  const float *weights;  // [kernel_height, kernel_width, channels / groups, filters]
  const float *bias;     // [filters]; NULL: none
} ConvLayer;

// Asked once, when the longest list is known. Returns memory for [time, batch, slots] floats.
typedef float *(*ConvAllocate)(void *context, int64_t slots);

// The slots of a step hold the pooled site of every spike, by ascending neuron, and then every site
// with neurons that carry gradient and do not spike, ascending.
typedef struct ConvForward {
  float *counts;   // [time, batch, 2]: slots of spikes, filled slots
  float *activity; // [time, batch, 2]: neurons that spike, neurons that carry gradient
  void *context;
  ConvAllocate allocate;
} ConvForward;

typedef struct ConvBackward {
  int64_t slots;           // of the forward pass
  const float *ids;        // [time, batch, slots], of the forward pass
  const float *counts;     // [time, batch, 2], of the forward pass
  const float *grad_slots; // [time, batch, slots]
  float *weights;          // gradients, as in ConvLayer
  float *bias;             // NULL: none
  float *inputs; // [time, batch, input_slots], 0 behind the filled slots; NULL: not wanted
} ConvBackward;

// The gradients of a convolution without neurons, whose result is the current of every neuron.
// Delay, pool and the constants of neurons of its ConvLayer are not read.
typedef struct ConvCurrentsBackward {
  const float *grad_currents; // [time, batch, neurons]
  float *weights, *bias;      // gradients, as in ConvLayer; bias NULL: none
  float *inputs;              // as in ConvBackward
} ConvCurrentsBackward;

LIF_API int lif_conv_forward(const ConvLayer *, const ConvForward *, char *message, size_t size);
LIF_API int lif_conv_backward(const ConvLayer *, const ConvBackward *, char *message, size_t size);
// currents: [time, batch, neurons].
LIF_API int lif_conv_currents(const ConvLayer *, float *currents, char *message, size_t size);
LIF_API int lif_conv_currents_backward(const ConvLayer *, const ConvCurrentsBackward *,
                                       char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
