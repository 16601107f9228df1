// dL/ds of the neurons in slots.
#ifndef IPULSE_OPS_LIF_CPU_SLOT_GRADIENT_H
#define IPULSE_OPS_LIF_CPU_SLOT_GRADIENT_H

#include "backward_call.h"
#include "passes/forward/spikes.h"

namespace lif {

// Computes dL/ds in the order of `kept`, the neurons in slots. With membranes, the result is
// multiplied by the surrogate.
// next: dL/dI of the layer `after`, which is null if there is none.
// direct: the direct part of dL/ds, [time, batch, direct_slots], or null.
std::unique_ptr<Buffer<float>> slot_gradient(const BackwardCall &call, const LifLayer &layer,
                                             const BitRows &bits, const Spikes &kept,
                                             const GradCurrent &next, const LifLayer *after,
                                             const float *direct, int direct_slots,
                                             const float *membranes);

} // namespace lif

#endif
