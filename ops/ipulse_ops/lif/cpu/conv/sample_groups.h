// Sums over the samples of a batch in a fixed order: gradients of a convolution's weights and bias.
#ifndef IPULSE_OPS_LIF_CPU_CONV_SAMPLE_GROUPS_H
#define IPULSE_OPS_LIF_CPU_CONV_SAMPLE_GROUPS_H

#include <algorithm>
#include <vector>

#include "plan.h"
#include "support/pool.h"

namespace lif {

inline int threads_of(const ConvLayer &layer) {
  return layer.threads ? layer.threads : default_threads();
}

// Calls add(sample, worker, weights, bias) for every sample, which adds to packed weights and to a
// plane of neurons, and writes the sums to `to_weights` and `to_bias`. The groups of samples are
// fixed, so that the order of the sums does not depend on the threads. to_bias, and the plane: null
// without a bias.
template <class Add>
void sum_over_samples(const ConvKernel &kernel, const ConvLayer &layer, const ConvPlan &plan,
                      float *to_weights, float *to_bias, Add add) {
  const int groups = std::max(1, std::min<int>(CONV_GROUPS, layer.batch));
  std::vector<std::vector<float>> by_weights(groups), by_bias(groups);
  parallel_for(threads_of(layer), groups, [&](int64_t group, int worker) {
    by_weights[group].assign(plan.packed_floats(), 0.0f);
    if (to_bias)
      by_bias[group].assign(plan.floats(), 0.0f);
    int64_t first = group * layer.batch / groups, last = (group + 1) * layer.batch / groups;
    for (int64_t b = first; b < last; ++b)
      add(static_cast<int>(b), worker, by_weights[group].data(),
          to_bias ? by_bias[group].data() : nullptr);
  });
  for (int group = 1; group < groups; ++group)
    kernel.add(by_weights[0].data(), by_weights[group].data(), plan.packed_floats());
  plan.unpack(by_weights[0].data(), to_weights);
  if (!to_bias)
    return;
  for (int group = 1; group < groups; ++group)
    kernel.add(by_bias[0].data(), by_bias[group].data(), plan.floats());
  for (int32_t f = 0; f < layer.filters; ++f) {
    float sum = 0;
    for (int32_t n = f; n < plan.neurons(); n += layer.filters)
      sum += by_bias[0][n];
    to_bias[f] = layer.bias_scale * sum;
  }
}

} // namespace lif

#endif
