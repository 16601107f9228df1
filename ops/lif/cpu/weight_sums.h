// dL/dW and dL/dbias of a layer, from its dL/dI.
#ifndef IPULSE_OPS_LIF_CPU_WEIGHT_SUMS_H
#define IPULSE_OPS_LIF_CPU_WEIGHT_SUMS_H

#include "spikes.h"

namespace lif {

// spikes: those that enter through these weights, of `channels`, `delay` steps later.
// grad: [channels, neurons], written.
void sum_weight_gradient(const Kernel &kernel, const LifNetwork &network, int threads,
                         const LayerGradient &layer, const Spikes &spikes, int channels, int delay,
                         float *grad);

// grad: [neurons], written.
void sum_bias_gradient(const LifNetwork &network, int threads, const LayerGradient &layer,
                       float *grad);

} // namespace lif

#endif
