// The backward pass of a layer that spikes, over the whole sequence.
#ifndef IPULSE_OPS_LIF_CPU_LAYER_BACKWARD_H
#define IPULSE_OPS_LIF_CPU_LAYER_BACKWARD_H

#include "backward_call.h"
#include "passes/forward/spikes.h"

namespace lif {

// Computes dL/dI of layer `number` from that of the next layer, `next`, which is empty if there is
// none.
// input: the spikes that enter the layer; null if it is not run again.
// own: the layer's own spikes; null if it is not recurrent.
// may_defer: dL/dI may be deferred until the weight gradient reads it. The arguments must then
// exist until that is done.
GradCurrent pass_layer(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
                       GradCurrent next, bool may_defer);

} // namespace lif

#endif
