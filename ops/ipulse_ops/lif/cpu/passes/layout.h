// Where things lie: how a kernel cuts a layer into panels, the rows of bits of a record, and a
// layer's constants padded to whole panels.
#ifndef IPULSE_OPS_LIF_CPU_LAYOUT_H
#define IPULSE_OPS_LIF_CPU_LAYOUT_H

#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "support/memory.h"

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

// The thresholds rise with the neurons' own spikes.
inline bool adapts(const LifLayer &layer) { return layer.adaptation_decay; }

// Has a constant that only the general kernels read.
inline bool is_general(const LifLayer &layer) {
#define LIF_HAS(name) || layer.name
  return false LIF_GENERAL_CONSTANTS(LIF_HAS);
#undef LIF_HAS
}

// Returns true if gradients are cut at a step within the sequence.
inline bool cuts_gradients(const LifNetwork &n) { return n.truncate && n.truncate < n.steps; }

// Samples of the batch that the network's are a part of.
inline int whole_batch_of(const LifNetwork &network) {
  return network.whole_batch ? network.whole_batch : network.batch;
}

// Returns true if the membranes of a layer, over all steps, take more than 64 MiB.
inline bool is_long(const LifNetwork &network, int neurons) {
  constexpr int64_t MANY = 64 << 20; // bytes
  return int64_t(whole_batch_of(network)) * network.steps * neurons > MANY / int64_t(sizeof(float));
}

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
  int64_t width_;
  Buffer<float> values_;
  Constants first_{}; // of panel 0
};

// A layer's weights in panels, [panels][inputs]; transposed: the panels are cut from its inputs,
// [panels][neurons]. storage: LifWeights.
std::unique_ptr<Buffer<float>> pack_weights(const Kernel &kernel, int threads, const float *weights,
                                            int inputs, int neurons, const Panels &panels,
                                            bool transposed, int storage);

// One packed panel of a matrix per worker, or some neighbours together, for tasks that come panel
// by panel. It stays in the worker's cache, where all panels together would pass through main
// memory once more.
class WorkerPanel {
public:
  // pack: of a kernel; weights: [rows, columns]; words: of a packed panel; storage: LifWeights.
  WorkerPanel(int workers, decltype(Kernel::pack) pack, const float *weights, int rows, int columns,
              const Panels &panels, int64_t words, int storage, int together = 1)
      : pack_(pack), weights_(weights), rows_(rows), columns_(columns), panels_(panels),
        words_(words), storage_(storage), together_(together), packed_(workers * words * together),
        held_(workers, -1) {}

  const float *get(int worker, int panel);

private:
  decltype(Kernel::pack) pack_;
  const float *weights_;
  int rows_, columns_;
  Panels panels_;
  int64_t words_;
  int storage_;
  int together_;
  Buffer<float> packed_;
  std::vector<int> held_; // the first panel of each worker
};

// Panels times groups of samples as tasks, panel by panel.
class PanelTasks {
public:
  PanelTasks(const Panels &panels, int batch, int threads) : batch_(batch) {
    // Enough tasks to keep threads busy to the end, and few, because each packs a panel.
    int groups = (8 * threads + panels.count - 1) / panels.count;
    samples_ = groups < batch ? (batch + groups - 1) / groups : 1;
    groups_ = (batch + samples_ - 1) / samples_;
    count_ = int64_t(panels.count) * groups_;
  }

  int64_t count() const { return count_; }
  int panel(int64_t task) const { return static_cast<int>(task / groups_); }
  int first(int64_t task) const { return static_cast<int>(task % groups_) * samples_; }
  int last(int64_t task) const {
    int end = first(task) + samples_;
    return end < batch_ ? end : batch_;
  }

private:
  int batch_, samples_, groups_;
  int64_t count_;
};

} // namespace lif

#endif
