#include <algorithm>
#include <memory>

#include "../../../surrogate.h"
#include "collect.h"
#include "conv_passes.h"
#include "input_gradient.h"
#include "sample_groups.h"

namespace lif {
namespace {

float conv_surrogate_at(const LifSurrogate &s, float x) {
  switch (s.kind) {
  case LIF_SUPERSPIKE:
    return superspike_at(s.slope, x);
  case LIF_ARCTAN:
    return arctan_at(s.slope, x);
  case LIF_BOXCAR:
    return boxcar_at(s.width, x);
  case LIF_EXPONENTIAL:
    return exponential_at(s.slope, x);
  default:
    return table_at(s.values, s.size, s.width, x);
  }
}

// The way back through one sample: it is run again, because its membranes are not stored.
class ConvBackwardSample {
public:
  ConvBackwardSample(const Kernel &kernel, const ConvLayer &layer, const ConvPlan &plan,
                     const std::vector<float> &weights, const ConvPlaceGroups *places,
                     const ConvBackward &gradient)
      : kernel_(kernel.conv), layer_(layer), plan_(plan), gradient_(gradient),
        forward_(layer, kernel, plan, weights),
        inputs_(kernel.conv, layer, plan, weights, places, gradient.inputs),
        collect_(kernel.conv, plan), lambda_(plan.floats()), by_site_(plan.sites()),
        e_(layer.gated ? 0 : plan.floats()) {}

  // Adds to weights, packed, and to bias, a plane or null.
  void run(int b, float *weights, float *bias) {
    forward_.run(b, true);
    const ConvEvents &events = forward_.events();
    std::fill(lambda_.begin(), lambda_.end(), 0.0f);
    for (int t = layer_.steps - 1; t >= 0; --t) {
      if (layer_.gated)
        step_with_gate(b, t);
      else
        step(b, t);
      if (bias)
        kernel_.add(bias, lambda_.data(), plan_.floats());
      int before = t - layer_.delay;
      if (before < 0)
        continue;
      collect_.add(events.ids.data() + events.start[before], events.counts[before], lambda_.data(),
                   weights);
      inputs_.write(events, before, b, lambda_.data());
    }
    inputs_.finish(events, b);
  }

private:
  struct Slots {
    const float *ids, *gradients;
    int64_t spikes, filled;
  };

  Slots slots_of(int b, int t) const {
    int64_t place = int64_t(t) * layer_.batch + b;
    return {gradient_.ids + place * gradient_.slots, gradient_.grad_slots + place * gradient_.slots,
            static_cast<int64_t>(gradient_.counts[2 * place]),
            static_cast<int64_t>(gradient_.counts[2 * place + 1])};
  }

  // dL/ds by site of the neurons that do not spike.
  void spread(const Slots &slots, std::vector<float> &by_site) const {
    std::fill(by_site.begin(), by_site.end(), 0.0f);
    for (int64_t k = slots.spikes; k < slots.filled; ++k)
      by_site[static_cast<int32_t>(slots.ids[k])] = slots.gradients[k];
  }

  float of_site(int32_t neuron) const {
    int32_t site = plan_.site_of()[neuron];
    return site < 0 ? 0.0f : by_site_[site];
  }

  void step(int b, int t) {
    Slots slots = slots_of(b, t);
    const bool unpooled = plan_.sites() == plan_.neurons();
    spread(slots, unpooled ? e_ : by_site_);
    const ConvTrace &trace = forward_.trace();
    for (int32_t n = 0; n < plan_.neurons() && !unpooled; ++n)
      e_[n] = of_site(n);
    for (int64_t k = trace.spike_start[t], slot = 0; k < trace.spike_start[t + 1]; ++k) {
      int32_t neuron = trace.spikes[k];
      e_[neuron] = plan_.site_of()[neuron] < 0 ? 0.0f : slots.gradients[slot++];
    }
    ConvAdjoint adjoint{};
    adjoint.u = trace.membranes.data() + t * plan_.floats();
    adjoint.e = e_.data();
    adjoint.lambda = lambda_.data();
    adjoint.floats = plan_.floats();
    adjoint.decay = layer_.decay;
    adjoint.threshold = layer_.threshold;
    adjoint.reset = layer_.reset;
    adjoint.reset_gradient = layer_.reset_gradient;
    adjoint.surrogate = &layer_.surrogate;
    kernel_.adjoint(adjoint);
  }

  void step_with_gate(int b, int t) {
    Slots slots = slots_of(b, t);
    spread(slots, by_site_);
    const ConvTrace &trace = forward_.trace();
    const bool zeroed =
        layer_.reset == LIF_RESET_ZERO && layer_.reset_gradient != LIF_RESET_GRADIENT_TERM;
    kernel_.decay(lambda_.data(), plan_.floats(), layer_.decay); // kappa
    for (int64_t k = trace.spike_start[t], slot = 0; k < trace.spike_start[t + 1]; ++k) {
      int32_t neuron = trace.spikes[k];
      float e = plan_.site_of()[neuron] < 0 ? 0.0f : slots.gradients[slot++];
      float kappa = lambda_[neuron], u = trace.spike_u[k];
      lambda_[neuron] = through_gate(u, e, kappa) + (zeroed ? 0.0f : kappa);
    }
    for (int64_t k = trace.other_start[t]; k < trace.other_start[t + 1]; ++k) {
      int32_t neuron = trace.others[k];
      float kappa = lambda_[neuron];
      lambda_[neuron] = through_gate(trace.other_u[k], of_site(neuron), kappa) + kappa;
    }
  }

  float through_gate(float u, float e, float kappa) const {
    if (layer_.reset_gradient == LIF_RESET_GRADIENT_NONE) {
      if (layer_.reset == LIF_RESET_ZERO)
        e -= u * kappa;
      else if (layer_.reset == LIF_RESET_SUBTRACT)
        e -= layer_.threshold * kappa;
    }
    return conv_surrogate_at(layer_.surrogate, u - layer_.threshold) * e;
  }

  const ConvKernel &kernel_;
  const ConvLayer &layer_;
  const ConvPlan &plan_;
  const ConvBackward &gradient_;
  ConvSample forward_;
  ConvInputGradient inputs_;
  ConvCollect collect_;
  std::vector<float> lambda_, by_site_, e_;
};

} // namespace

void run_conv_backward(const Kernel &kernel, const ConvLayer &layer, const ConvBackward &gradient) {
  const ConvPlan plan(layer);
  const std::vector<float> weights = plan.packed();
  const auto places = place_groups(layer, plan, weights, gradient.inputs);
  std::vector<std::unique_ptr<ConvBackwardSample>> samples(threads_of(layer));
  sum_over_samples(kernel.conv, layer, plan, gradient.weights, gradient.bias,
                   [&](int b, int worker, float *by_weights, float *by_bias) {
                     if (!samples[worker])
                       samples[worker] = std::make_unique<ConvBackwardSample>(
                           kernel, layer, plan, weights, places.get(), gradient);
                     samples[worker]->run(b, by_weights, by_bias);
                   });
}

} // namespace lif
