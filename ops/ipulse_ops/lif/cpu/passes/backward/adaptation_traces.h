// The adaptation of a layer at every step, again, for its backward pass.
#ifndef IPULSE_OPS_LIF_CPU_ADAPTATION_TRACES_H
#define IPULSE_OPS_LIF_CPU_ADAPTATION_TRACES_H

#include "backward_call.h"

namespace lif {

// Computes it from the stored resets alone: it takes no memory in a record. Does nothing for a
// layer that does not adapt.
class AdaptationTraces {
public:
  // slots: traces that a worker keeps at a time.
  AdaptationTraces(const BackwardCall &call, const LifLayer &layer, const Panels &panels,
                   int64_t slots)
      : call_(call), slots_(slots), size_(int64_t(call.n.steps) * panels.width) {
    if (adapts(layer))
      traces_.reset(new Buffer<float>(call.threads * slots * size_));
  }

  // Writes the worker's trace `slot` for the panel and sample of `a`.
  void run(const PanelBackward &a, int64_t slot, int worker) const {
    if (traces_)
      call_.kernel.replay_adaptation({call_.n.steps, a.vectors, a.above + a.first_neuron / 8,
                                      a.row_bytes, a.constants.adaptation_decay,
                                      trace_of(slot, worker)});
  }

  // Hands that trace to `a`.
  void show(PanelBackward &a, int64_t slot, int worker) const {
    if (traces_)
      a.adaptation_trace = trace_of(slot, worker);
  }

private:
  float *trace_of(int64_t slot, int worker) const {
    return traces_->get() + (worker * slots_ + slot) * size_;
  }

  const BackwardCall &call_;
  const int64_t slots_, size_;
  std::unique_ptr<Buffer<float>> traces_; // null: the layer does not adapt
};

} // namespace lif

#endif
