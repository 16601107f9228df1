// A layer that spikes backward, over the whole sequence.
#ifndef IPULSE_OPS_LIF_CPU_LAYER_BACKWARD_H
#define IPULSE_OPS_LIF_CPU_LAYER_BACKWARD_H

#include "backward_call.h"
#include "passes/forward/spikes.h"

namespace lif {

// Its dL/dI, from that of the layer after it, `next`; that is empty if there is none.
// input: the spikes that enter layer `number`; null if it does not run again.
// own: its own; null if it is not recurrent.
// later: dL/dI may be left to be made where it is summed. What was given must then stay till then,
// and dL/dI has a place if the layer before reads it, too.
// idle: for the pass.
GradCurrent pass_layer(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
                       GradCurrent next, IdleMemory idle, bool later);

} // namespace lif

#endif
