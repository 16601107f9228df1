#include <algorithm>
#include <memory>

#include "../../../surrogate.h"
#include "conv_passes.h"
#include "places.h"
#include "sample.h"
#include "support/pool.h"

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
      : kernel_(kernel.conv), layer_(layer), plan_(plan), weights_(weights), places_(places),
        gradient_(gradient), forward_(layer, kernel, plan, weights), lambda_(plan.floats()),
        by_site_(plan.sites()), e_(layer.gated ? 0 : plan.floats()),
        by_input_(places ? places->floats() : 0) {}

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
      const int32_t *ids = events.ids.data() + events.start[before];
      kernel_.collect(plan_.tables(), ids, events.counts[before], lambda_.data(), weights);
      if (gradient_.inputs)
        gather(ids, events.start[before + 1] - events.start[before], input_gradient(b, before));
    }
    if (gradient_.inputs)
      for (int t = 0; t < layer_.steps; ++t) {
        // Spikes of the last step have no effect where they are delayed.
        int64_t filled =
            t + layer_.delay < layer_.steps ? events.start[t + 1] - events.start[t] : 0;
        float *to = input_gradient(b, t);
        std::fill(to + filled, to + layer_.input_slots, 0.0f);
      }
  }

private:
  struct Slots {
    const float *ids, *gradients;
    int64_t spikes, filled;
  };

  // Products for all inputs at once cost about half as much each as for single ones.
  void gather(const int32_t *ids, int64_t filled, float *to) {
    if (!places_ || 2 * filled < plan_.inputs())
      return kernel_.gather(plan_.tables(), ids, filled, weights_.data(), lambda_.data(), to);
    places_->gradient(kernel_, lambda_.data(), by_input_.data());
    for (int64_t k = 0; k < filled; ++k)
      to[k] = by_input_[places_->index_of()[ids[k]]];
  }

  float *input_gradient(int b, int t) const {
    return gradient_.inputs + (int64_t(t) * layer_.batch + b) * layer_.input_slots;
  }

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
  const std::vector<float> &weights_;
  const ConvPlaceGroups *places_; // null: single products only
  const ConvBackward &gradient_;
  ConvSample forward_;
  std::vector<float> lambda_, by_site_, e_, by_input_;
};

class ConvBackwardPass {
public:
  ConvBackwardPass(const Kernel &kernel, const ConvLayer &layer, const ConvBackward &gradient)
      : kernel_(kernel), layer_(layer), gradient_(gradient), plan_(layer),
        weights_(plan_.packed()) {}

  void run() {
    std::unique_ptr<ConvPlaceGroups> places;
    if (gradient_.inputs && layer_.groups == 1)
      places = std::make_unique<ConvPlaceGroups>(layer_, plan_, weights_);
    int threads = layer_.threads ? layer_.threads : default_threads();
    // Fixed, so that the order of the sums does not depend on the threads.
    int groups = std::max(1, std::min<int>(CONV_GROUPS, layer_.batch));
    std::vector<std::vector<float>> by_weights(groups), by_bias(groups);
    std::vector<std::unique_ptr<ConvBackwardSample>> samples(threads);
    parallel_for(threads, groups, [&](int64_t group, int worker) {
      by_weights[group].assign(plan_.packed_floats(), 0.0f);
      if (gradient_.bias)
        by_bias[group].assign(plan_.floats(), 0.0f);
      if (!samples[worker])
        samples[worker] = std::make_unique<ConvBackwardSample>(kernel_, layer_, plan_, weights_,
                                                               places.get(), gradient_);
      int64_t first = group * layer_.batch / groups, last = (group + 1) * layer_.batch / groups;
      for (int64_t b = first; b < last; ++b)
        samples[worker]->run(static_cast<int>(b), by_weights[group].data(),
                             gradient_.bias ? by_bias[group].data() : nullptr);
    });
    for (int group = 1; group < groups; ++group)
      kernel_.conv.add(by_weights[0].data(), by_weights[group].data(), plan_.packed_floats());
    plan_.unpack(by_weights[0].data(), gradient_.weights);
    if (gradient_.bias)
      sum_bias(by_bias);
  }

private:
  void sum_bias(std::vector<std::vector<float>> &by_bias) const {
    for (size_t group = 1; group < by_bias.size(); ++group)
      kernel_.conv.add(by_bias[0].data(), by_bias[group].data(), plan_.floats());
    for (int32_t f = 0; f < layer_.filters; ++f) {
      float sum = 0;
      for (int32_t n = f; n < plan_.neurons(); n += layer_.filters)
        sum += by_bias[0][n];
      gradient_.bias[f] = layer_.bias_scale * sum;
    }
  }

  const Kernel &kernel_;
  const ConvLayer &layer_;
  const ConvBackward &gradient_;
  const ConvPlan plan_;
  const std::vector<float> weights_;
};

} // namespace

void run_conv_backward(const Kernel &kernel, const ConvLayer &layer, const ConvBackward &gradient) {
  ConvBackwardPass(kernel, layer, gradient).run();
}

} // namespace lif
