#include "packed_layer.h"

namespace lif {

PackedLayer::PackedLayer(const Kernel &kernel, const LifNetwork &n, int number, int threads,
                         bool all)
    : layer(n.layer[number]), panels(cut(kernel, n, number)), constants(layer, panels),
      kernel_(kernel), network_(n), threads_(threads), inputs_(inputs_of(n, number)),
      delay_(layer.delay) {
  if (all)
    weights_ = pack_weights(kernel, threads, layer.weights, inputs_, layer.neurons, panels, false,
                            n.weights);
  if (number < n.layers && layer.recurrent)
    recurrent_ = pack_weights(kernel, threads, layer.recurrent, layer.neurons, layer.neurons,
                              panels, false, n.weights);
}

PanelForward PackedLayer::panel(const Spikes &input, const Spikes *own, int p, int b) const {
  PanelForward a{};
  int64_t row = int64_t(b) * network_.steps;
  a.steps = a.last = network_.steps;
  a.delay = delay_;
  a.vectors = panels.vectors;
  a.inputs = inputs_;
  a.storage = network_.weights;
  int64_t words = row_words(panels, a.storage);
  if (weights_)
    a.weights = weights_->get() + p * inputs_ * words;
  a.ids = input.ids;
  a.begin = &input.start[row];
  a.end = &input.start[row + 1];
  if (recurrent_)
    a.recurrent = recurrent_->get() + p * layer.neurons * words;
  if (own) {
    a.own_ids = own->ids;
    a.own_begin = &own->start[row];
    a.own_end = &own->start[row + 1];
  }
  a.constants = constants.of(p);
  a.reset = network_.reset;
  return a;
}

} // namespace lif
