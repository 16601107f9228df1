// The state of a layer's backward pass, for layer_backward.cc and recurrent_steps.cc.
#ifndef IPULSE_OPS_LIF_CPU_LAYER_PASS_H
#define IPULSE_OPS_LIF_CPU_LAYER_PASS_H

#include "adaptation_traces.h"
#include "layer_plan.h"
#include "passes/forward/spikes.h"
#include "replay.h"

namespace lif {

class LayerPass : public std::enable_shared_from_this<LayerPass> {
public:
  LayerPass(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
            GradCurrent next, bool may_defer);

  GradCurrent run();

private:
  void read_membranes();
  void allocate_current();
  GradCurrent defer();

  // The strategies of LayerPlan.
  void pass_slots();
  void pass_dense(int first_sample);
  void pass_strassen();
  void pass_steps();

  // Samples from `sample` on: first their products, then their steps.
  void prepare_products(int samples);
  void pass_after_product(int p, int sample, int samples, int worker) const;

  // One sample. products: dL/dI of the next layer times its weights, [steps][width], which is
  // overwritten, or null. grad_current: where dL/dI is written, if not to current_.
  void pass_panel(int p, int sample, float *products, int worker,
                  float *grad_current = nullptr) const;
  PanelBackward panel(int p, int sample) const;
  void add_recurrent(int64_t row, const float *weights, const int32_t *all_neurons,
                     float *extra) const;

  const BackwardCall &call_;
  const LifNetwork &n_;
  const int number_;
  const LifLayer &layer_;
  const BitRows bits_;
  const Panels panels_;
  const LayerConstants constants_;
  const LayerPlan plan_;
  GradCurrent next_;
  const LifLayer *after_; // the next layer or null
  Replay replay_;
  AdaptationTraces adaptation_;
  const float *direct_ = nullptr; // the direct part of dL/ds
  const float *membranes_ = nullptr;
  // In a sparse layer: the neurons in slots, and their dL/ds.
  std::unique_ptr<Spikes> kept_;
  std::unique_ptr<Buffer<float>> product_;
  std::unique_ptr<Buffer<float>> replayed_; // the membranes of a layer that was run again
  GradCurrent current_;
  std::unique_ptr<WorkerPanel> transposed_; // the next layer's weights
  std::unique_ptr<Buffer<float>> products_;
  int64_t worker_products_ = 0; // floats of a worker in products_
};

} // namespace lif

#endif
