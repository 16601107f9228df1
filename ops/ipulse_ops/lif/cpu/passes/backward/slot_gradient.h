// dL/ds of the neurons in slots.
#ifndef IPULSE_OPS_LIF_CPU_SLOT_GRADIENT_H
#define IPULSE_OPS_LIF_CPU_SLOT_GRADIENT_H

#include "backward_call.h"
#include "passes/forward/spikes.h"

namespace lif {

// In the order of `kept`, the neurons in slots; times phi if there are membranes.
// next: dL/dI of the layer after, which `weights` lead to; null: of no layer.
// direct: the loss's own derivative by the spikes, [time, batch, slots], or null.
// idle: for what is held meanwhile.
std::unique_ptr<Buffer<float>> slot_gradient(const BackwardCall &call, const LifLayer &layer,
                                             const BitRows &bits, const Spikes &kept,
                                             const GradCurrent &next, const float *weights,
                                             const float *direct, const float *membranes,
                                             const IdleMemory &idle);

} // namespace lif

#endif
