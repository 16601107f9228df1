// The leaky readout backward, over the whole sequence.
#ifndef IPULSE_OPS_LIF_CPU_READOUT_BACKWARD_H
#define IPULSE_OPS_LIF_CPU_READOUT_BACKWARD_H

#include "backward_call.h"
#include "passes/forward/spikes.h"

namespace lif {

// Computes dL/dI of a leaky readout. input: the spikes that enter it, read if it is run again.
GradCurrent pass_readout(const BackwardCall &call, const Spikes *input);

} // namespace lif

#endif
