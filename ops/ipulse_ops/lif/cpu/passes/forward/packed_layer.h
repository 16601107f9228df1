// A layer as a kernel runs it forward: constants and weights cut into panels.
#ifndef IPULSE_OPS_LIF_CPU_PACKED_LAYER_H
#define IPULSE_OPS_LIF_CPU_PACKED_LAYER_H

#include "passes/layout.h"
#include "spikes.h"
#include "support/pool.h"

namespace lif {

class PackedLayer {
public:
  // all: pack all panels now, for `panel`; else they are packed one by one in for_panels.
  PackedLayer(const Kernel &kernel, const LifNetwork &network, int number, int threads, bool all);

  // Calls run(a, p, b) for every panel p and sample b, where `a` is as `panel` gives it.
  template <class Run> void for_panels(const Spikes &input, Run run) const {
    WorkerPanel weights(threads_, kernel_.pack, layer.weights, inputs_, layer.neurons, panels,
                        inputs_ * row_words(panels, network_.weights), network_.weights);
    PanelTasks tasks(panels, network_.batch, threads_);
    parallel_for(threads_, tasks.count(), [&](int64_t task, int worker) {
      int p = tasks.panel(task);
      for (int b = tasks.first(task); b < tasks.last(task); ++b) {
        PanelForward a = panel(input, nullptr, p, b);
        a.weights = weights.get(worker, p);
        run(a, p, b);
      }
    });
  }

  // The whole sequence of panel p and sample b, without anything to write. own: the layer's own
  // spikes, read if it is recurrent.
  PanelForward panel(const Spikes &input, const Spikes *own, int p, int b) const;

  const LifLayer &layer;
  const Panels panels;
  const LayerConstants constants;

private:
  const Kernel &kernel_;
  const LifNetwork &network_;
  const int threads_;
  const int inputs_, delay_;
  std::unique_ptr<Buffer<float>> weights_, recurrent_;
};

} // namespace lif

#endif
