// dL/dW and dL/dbias of a layer, from its dL/dI.
#ifndef IPULSE_OPS_LIF_CPU_WEIGHT_SUMS_H
#define IPULSE_OPS_LIF_CPU_WEIGHT_SUMS_H

#include "backward_call.h"
#include "passes/forward/spikes.h"

namespace lif {

// Returns true if summing the gradient of the weights from `channels` takes no more time with a
// dL/dI that is computed meanwhile, sample by sample, than with a stored one.
bool sums_by_sample(const LifNetwork &network, int threads, const Panels &panels, int channels);

// spikes: those that enter through these weights, of `channels`, `delay` steps later.
// grad: [channels, neurons], written.
void sum_weight_gradient(const BackwardCall &call, const GradCurrent &current, const Spikes &spikes,
                         int channels, int delay, float *grad);

// grad: [neurons], written.
void sum_bias_gradient(const BackwardCall &call, int number, const GradCurrent &current,
                       float *grad);

} // namespace lif

#endif
