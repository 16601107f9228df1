// Where things lie: how a kernel cuts a layer into panels, the rows of bits of a record, and a
// layer's constants padded to whole panels.
#ifndef IPULSE_OPS_LIF_CPU_LAYOUT_H
#define IPULSE_OPS_LIF_CPU_LAYOUT_H

#include "kernel.h"
#include "memory.h"

namespace lif {

// Some neurons carry no gradient, or not always.
inline bool is_sparse(const LifLayer &layer) {
  return layer.second_threshold || layer.slots < layer.neurons;
}

// Channels that enter a layer.
inline int inputs_of(const LifNetwork &network, int number) {
  return number ? network.layer[number - 1].neurons : network.inputs;
}

// Not every neuron has a slot.
inline bool is_truncated(const LifLayer &layer) { return layer.slots < layer.neurons; }

inline int64_t row_bytes_of(int neurons) {
  return (static_cast<int64_t>(neurons) + MAX_WIDTH - 1) / MAX_WIDTH * (MAX_WIDTH / 8);
}

// The sets of neurons in a record, [batch][steps][row_bytes] each.
struct BitRows {
  BitRows(const LifLayer &layer, int64_t rows, const uint32_t *bits)
      : row_bytes(row_bytes_of(layer.neurons)) {
    // Written by the forward pass alone; the backward pass only reads.
    above = const_cast<uint8_t *>(reinterpret_cast<const uint8_t *>(bits));
    uint8_t *next = above + rows * row_bytes;
    kept = is_sparse(layer) ? next : nullptr;
    emitted = is_truncated(layer) ? next + rows * row_bytes : above;
  }
  static int64_t bytes(const LifLayer &layer, int64_t rows) {
    return (1 + is_sparse(layer) + is_truncated(layer)) * rows * row_bytes_of(layer.neurons);
  }

  int64_t row_bytes;
  uint8_t *above;   // u > threshold: these reset
  uint8_t *kept;    // have a slot and carry gradient; null: all
  uint8_t *emitted; // spike and have a slot
};

// A layer's constants in whole panels.
class LayerConstants {
public:
  LayerConstants(const LifLayer &layer, const Panels &panels);
  Constants of(int panel) const;

private:
  int64_t width_, padded_;
  bool synapse_, bias_;
  Buffer<float> values_;
};

// A layer's weights in panels, [panels][inputs][width]; transposed: the panels are cut from its
// inputs, [panels][neurons][width]. storage: LifWeights.
std::unique_ptr<Buffer<float>> pack_weights(const Kernel &kernel, int threads, const float *weights,
                                            int inputs, int neurons, const Panels &panels,
                                            bool transposed, int storage);

} // namespace lif

#endif
