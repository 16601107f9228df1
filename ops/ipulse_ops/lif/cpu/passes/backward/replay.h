// Layers run again in the backward pass.
#ifndef IPULSE_OPS_LIF_CPU_REPLAY_H
#define IPULSE_OPS_LIF_CPU_REPLAY_H

#include "backward_call.h"
#include "passes/forward/packed_layer.h"

namespace lif {

// Runs a layer again from its stored spikes, and sums the gradients by its constants, which need
// v and i of every step.
class Replay {
public:
  // input: the spikes that enter the layer, null if it does not run again. own: a recurrent
  // layer's.
  Replay(const BackwardCall &call, int number, const Spikes *input, const Spikes *own);

  // u of the record: of all neurons, or of those in `kept`.
  std::unique_ptr<Buffer<float>> membranes(const Spikes *kept) const;

  // If gradients by constants are wanted: runs panel p of sample b into the worker's trace `slot`
  // (0, or of a recurrent layer any panel's number), and hands that trace to `a`.
  void run(int p, int b, int slot, int worker) const;
  void show(PanelBackward &a, int p, int b, int slot, int worker) const;

  // Adds up the samples.
  void write_sums() const;

private:
  int64_t trace_size() const { return int64_t(3) * n_.steps * panels_.width; }
  int64_t sums_size() const { return int64_t(CONSTANT_SUMS) * panels_.width; }
  float *trace_of(int slot, int worker) const {
    return traces_->get() + (worker * slots_ + slot) * trace_size();
  }
  PanelForward panel(int p, int b) const;

  const Kernel &kernel_;
  const LifNetwork &n_;
  const int threads_;
  const int64_t rows_;
  const LifLayer &layer_;
  const LifGradient &wanted_;
  const Spikes *input_, *own_;
  const Panels panels_;
  const bool tracing_;
  const int64_t slots_;           // traces of a worker
  double *const running_;         // of the call's RunningSums, or null
  std::unique_ptr<BitRows> bits_; // null: a leaky readout
  std::unique_ptr<PackedLayer> packed_;
  std::unique_ptr<Buffer<float>> traces_, sums_;
};

} // namespace lif

#endif
