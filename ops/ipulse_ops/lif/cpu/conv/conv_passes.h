// The passes of a convolution over a batch, with and without neurons. One sample, or one group of
// samples, is one task.
#ifndef IPULSE_OPS_LIF_CPU_CONV_PASSES_H
#define IPULSE_OPS_LIF_CPU_CONV_PASSES_H

#include "interface/conv.h"
#include "kernels/kernel.h"

namespace lif {

// All throw std::bad_alloc, and std::invalid_argument for wrong spikes.
void run_conv_forward(const Kernel &kernel, const ConvLayer &layer, const ConvForward &result);
void run_conv_backward(const Kernel &kernel, const ConvLayer &layer, const ConvBackward &gradient);
void run_conv_currents(const Kernel &kernel, const ConvLayer &layer, float *currents);
void run_conv_currents_backward(const Kernel &kernel, const ConvLayer &layer,
                                const ConvCurrentsBackward &gradient);

} // namespace lif

#endif
