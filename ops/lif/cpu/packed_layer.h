// A layer as a kernel runs it forward: constants and weights cut into panels.
#ifndef IPULSE_OPS_LIF_CPU_PACKED_LAYER_H
#define IPULSE_OPS_LIF_CPU_PACKED_LAYER_H

#include "layout.h"
#include "spikes.h"

namespace lif {

class PackedLayer {
public:
  PackedLayer(const Kernel &kernel, const LifNetwork &network, int number, int threads);

  // The whole sequence of panel p and sample b, without anything to write. own: the layer's own
  // spikes, read if it is recurrent.
  PanelForward panel(const Spikes &input, const Spikes *own, int p, int b) const;

  const LifLayer &layer;
  const Panels panels;
  const LayerConstants constants;

private:
  const LifNetwork &network_;
  const int inputs_, delay_;
  std::unique_ptr<Buffer<float>> weights_, recurrent_;
};

} // namespace lif

#endif
