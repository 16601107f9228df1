// Fills a layer's slots in the forward pass and lists its spikes.
#ifndef IPULSE_OPS_LIF_CPU_LAYER_SLOTS_H
#define IPULSE_OPS_LIF_CPU_LAYER_SLOTS_H

#include <vector>

#include "passes/layout.h"
#include "spikes.h"

namespace lif {

class LayerSlots {
public:
  // bits: of layer `number`, who is above its threshold. gate: likewise above the second one, or
  // null; the record's own if every neuron has a slot.
  LayerSlots(const Kernel &kernel, const LifNetwork &network, int number, int threads,
             const BitRows &bits, const uint8_t *gate)
      : kernel_(kernel), n_(network), number_(number), threads_(threads),
        layer_(network.layer[number]), rows_(int64_t(network.batch) * network.steps), bits_(bits),
        gate_(gate) {}

  // Gives the slots of one sample and step. u: of all neurons, read by the policy top. ids:
  // scratch.
  void choose(int b, int t, const float *u, std::vector<int32_t> &ids) const;

  // Returns the layer's spikes and writes the counts of `result`. chosen: the slots of each step
  // have been chosen. kept: [rows + 1], written if the layer is sparse: the first of the neurons in
  // slots of each row.
  std::unique_ptr<Spikes> select(bool chosen, const LifForward &result, int64_t *kept) const;

private:
  int64_t spikes_of(int64_t b) const; // of a sample, in slots

  const Kernel &kernel_;
  const LifNetwork &n_;
  const int number_, threads_;
  const LifLayer &layer_;
  const int64_t rows_;
  const BitRows &bits_;
  const uint8_t *gate_;
};

} // namespace lif

#endif
