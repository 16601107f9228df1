// The two passes over a whole sequence, with a kernel.
#ifndef IPULSE_OPS_LIF_CPU_SEQUENCE_H
#define IPULSE_OPS_LIF_CPU_SEQUENCE_H

#include "kernels/kernel.h"

namespace lif {

// Both throw std::bad_alloc, also when the caller's `allocate` returned NULL.
void run_forward(const Kernel &kernel, const LifNetwork &network, const LifForward &result);
void run_backward(const Kernel &kernel, const LifNetwork &network, const LifBackward &gradient);

// Floats of a layer's membranes in a record where every neuron carries gradient.
int64_t dense_membranes(const Panels &panels, int64_t rows);

} // namespace lif

#endif
