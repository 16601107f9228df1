// The gradient of a convolution's input spikes.
#ifndef IPULSE_OPS_LIF_CPU_CONV_INPUT_GRADIENT_H
#define IPULSE_OPS_LIF_CPU_CONV_INPUT_GRADIENT_H

#include <algorithm>
#include <memory>
#include <vector>

#include "places.h"
#include "sample.h"

namespace lif {

// Made once for all workers: the products of all inputs at once, where the layer has them.
inline std::unique_ptr<ConvPlaceGroups> place_groups(const ConvLayer &layer, const ConvPlan &plan,
                                                     const std::vector<float> &weights,
                                                     bool is_wanted) {
  if (!is_wanted || layer.groups != 1)
    return nullptr;
  return std::make_unique<ConvPlaceGroups>(layer, plan, weights);
}

// Writes the gradient of the slots of one sample after another; each thread has its own.
class ConvInputGradient {
public:
  // inputs: [time, batch, input_slots]; null: not wanted. places: null for single products only.
  ConvInputGradient(const ConvKernel &kernel, const ConvLayer &layer, const ConvPlan &plan,
                    const std::vector<float> &weights, const ConvPlaceGroups *places, float *inputs)
      : kernel_(kernel), layer_(layer), plan_(plan), weights_(weights), places_(places),
        inputs_(inputs), by_input_(places ? places->floats() : 0) {}

  // Writes the filled slots of step t from the gradient of the currents that they reached.
  void write(const ConvEvents &events, int t, int b, const float *by_current) {
    if (inputs_)
      gather(events.ids.data() + events.start[t], events.start[t + 1] - events.start[t], by_current,
             slots(t, b));
  }

  // Writes zeros to the other slots, and to those of spikes that arrive behind the last step.
  void finish(const ConvEvents &events, int b) {
    for (int t = 0; t < layer_.steps && inputs_; ++t) {
      int64_t filled = t + layer_.delay < layer_.steps ? events.start[t + 1] - events.start[t] : 0;
      std::fill(slots(t, b) + filled, slots(t, b) + layer_.input_slots, 0.0f);
    }
  }

private:
  // Products for all inputs at once cost about half as much each as for single ones.
  void gather(const int32_t *ids, int64_t filled, const float *by_current, float *to) {
    if (!places_ || 2 * filled < plan_.inputs())
      return kernel_.gather(plan_.tables(), ids, filled, weights_.data(), by_current, to);
    places_->gradient(kernel_, by_current, by_input_.data());
    for (int64_t k = 0; k < filled; ++k)
      to[k] = by_input_[places_->index_of()[ids[k]]];
  }

  float *slots(int t, int b) const {
    return inputs_ + (int64_t(t) * layer_.batch + b) * layer_.input_slots;
  }

  const ConvKernel &kernel_;
  const ConvLayer &layer_;
  const ConvPlan &plan_;
  const std::vector<float> &weights_;
  const ConvPlaceGroups *places_;
  float *inputs_;
  std::vector<float> by_input_;
};

} // namespace lif

#endif
