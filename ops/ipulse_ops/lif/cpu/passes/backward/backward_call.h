// The types that all parts of a backward pass share: the call, and dL/dI of a layer.
#ifndef IPULSE_OPS_LIF_CPU_BACKWARD_CALL_H
#define IPULSE_OPS_LIF_CPU_BACKWARD_CALL_H

#include <functional>
#include <vector>

#include "passes/layout.h"

namespace lif {

// Computes the rows of dL/dI of a panel and sample when they are read.
using DeferredGradient = std::function<void(int panel, int sample, float *rows, int worker)>;

// dL/dI of a layer, [panels][rows][width], stored in its own memory, in that of the layer's
// membranes, or nowhere.
struct GradCurrent {
  GradCurrent() = default;
  // storage: null if `floats` belong to the caller.
  GradCurrent(const Panels &panels, std::shared_ptr<Buffer<float>> storage, float *floats)
      : panels(panels), floats(storage ? storage->get() : floats), storage(std::move(storage)) {}

  Panels panels{};
  float *floats = nullptr;                // null: not stored
  std::shared_ptr<Buffer<float>> storage; // shared by copies of this
  DeferredGradient deferred;              // null: the rows are computed
};

// Sums of a call that takes its samples in groups, which go on from group to group.
struct RunningSums {
  explicit RunningSums(const LifNetwork &network);

  bool continues = false;                     // false: the first group
  std::vector<std::vector<double>> bias;      // of each layer, [neurons]
  std::vector<std::vector<double>> constants; // of each layer, [CONSTANT_SUMS][neurons]
};

struct BackwardCall {
  // sums: of the groups before; null: the call has all samples.
  BackwardCall(const Kernel &kernel, const LifNetwork &network, const LifBackward &gradient,
               RunningSums *sums);

  bool wants_constants(int number) const;

  // Returns true if a layer is run again, which needs the spikes that enter it.
  bool replays(int number) const {
    return wants_constants(number) || (number < n.layers && n.store == LIF_STORE_SPIKES);
  }

  // The direct part of dL/du of a layer or the readout; null: zeros.
  const float *grad_u_of(int number) const;

  // The slots of grad_spikes of a layer.
  int grad_slots_of(int number) const {
    return gradient.grad_slots ? gradient.grad_slots[number] : n.layer[number].slots;
  }

  // The arguments of general_backward for a layer or the readout, all steps.
  PanelBackward panel(int number, const GradCurrent &current, const LayerConstants &constants,
                      int p, int b) const;

  LayerGradient layer(const GradCurrent &current) const {
    return {current.panels, current.floats, rows};
  }

  const Kernel &kernel;
  const LifNetwork &n;
  const LifBackward &gradient;
  RunningSums *const sums;
  const int threads;
  const int64_t rows;
};

} // namespace lif

#endif
