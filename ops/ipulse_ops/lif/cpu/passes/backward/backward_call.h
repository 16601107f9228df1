// What the parts of a backward pass share: the call, and dL/dI as it goes from layer to layer.
#ifndef IPULSE_OPS_LIF_CPU_BACKWARD_CALL_H
#define IPULSE_OPS_LIF_CPU_BACKWARD_CALL_H

#include <functional>
#include <vector>

#include "idle_memory.h"
#include "support/layout.h"

namespace lif {

// dL/dI of a layer, [panels][rows][width], in memory of its own or in that of its membranes, or
// nowhere yet. Where every sample's rows are multiples of one row, it has only that, which is the
// last step's: [panels][batch][width].
struct GradCurrent {
  GradCurrent() = default;
  // storage: null if `floats`, of the caller, are written instead.
  GradCurrent(const Panels &panels, std::shared_ptr<Buffer<float>> storage, float *floats)
      : panels(panels), floats(storage ? storage->get() : floats), storage(std::move(storage)) {}

  Panels panels{};
  float *floats = nullptr;
  std::shared_ptr<Buffer<float>> storage; // of all copies
  // How many times the last step's row each step has it, if there is only that. Else empty.
  std::vector<float> of_last;
  // If it is left to be made where it is read: writes the rows of a panel and sample.
  std::function<void(int panel, int sample, float *rows, int worker)> make;
};

struct BackwardCall {
  BackwardCall(const Kernel &kernel, const LifNetwork &network, const LifBackward &gradient);

  bool wants_constants(int number) const;

  // Whether a layer runs again, which reads the spikes that enter it.
  bool replays(int number) const {
    return wants_constants(number) || (number < n.layers && n.store == LIF_STORE_SPIKES);
  }

  // The loss's own derivative by the membranes of a layer or the readout; null: zeros.
  const float *grad_u_of(int number) const;

  // What general_backward needs of a layer or the readout, all steps.
  PanelBackward panel(int number, const GradCurrent &current, const LayerConstants &constants,
                      int p, int b) const;

  LayerGradient layer(const GradCurrent &current) const {
    return {current.panels, current.floats, current.of_last.empty() ? rows : n.batch};
  }

  // The same with the rows of all steps.
  GradCurrent every_row(const GradCurrent &current) const;

  const Kernel &kernel;
  const LifNetwork &n;
  const LifBackward &gradient;
  const int threads;
  const int64_t rows;
};

} // namespace lif

#endif
