// The currents of a convolution without neurons, and their gradient.
#include <algorithm>
#include <memory>

#include "collect.h"
#include "conv_passes.h"
#include "input_gradient.h"
#include "sample_groups.h"

namespace lif {

void run_conv_currents(const Kernel &kernel, const ConvLayer &layer, float *currents) {
  const ConvPlan plan(layer);
  const std::vector<float> weights = plan.packed();
  std::vector<ConvEvents> events(threads_of(layer));
  parallel_for(threads_of(layer), layer.batch, [&](int64_t b, int worker) {
    ConvEvents &own = events[worker];
    own.read(layer, plan.inputs(), static_cast<int>(b));
    for (int t = 0; t < layer.steps; ++t) {
      float *plane = currents + (int64_t(t) * layer.batch + b) * plan.neurons();
      for (int32_t n = 0; n < plan.neurons(); ++n)
        plane[n] = layer.bias ? layer.bias_scale * layer.bias[n % layer.filters] : 0.0f;
      kernel.conv.scatter(plan.tables(), own.ids.data() + own.start[t], own.counts[t],
                          weights.data(), plane);
    }
  });
}

void run_conv_currents_backward(const Kernel &kernel, const ConvLayer &layer,
                                const ConvCurrentsBackward &gradient) {
  const ConvPlan plan(layer);
  const std::vector<float> weights = plan.packed();
  const auto places = place_groups(layer, plan, weights, gradient.inputs);
  struct Worker {
    ConvEvents events;
    ConvInputGradient inputs;
    ConvCollect collect;
  };
  std::vector<std::unique_ptr<Worker>> workers(threads_of(layer));
  sum_over_samples(kernel.conv, layer, plan, gradient.weights, gradient.bias,
                   [&](int b, int worker, float *by_weights, float *by_bias) {
                     if (!workers[worker])
                       workers[worker].reset(new Worker{
                           {},
                           {kernel.conv, layer, plan, weights, places.get(), gradient.inputs},
                           {kernel.conv, plan}});
                     ConvEvents &events = workers[worker]->events;
                     events.read(layer, plan.inputs(), b);
                     for (int t = layer.steps - 1; t >= 0; --t) {
                       const float *by_current =
                           gradient.grad_currents + (int64_t(t) * layer.batch + b) * plan.neurons();
                       if (by_bias)
                         kernel.conv.add(by_bias, by_current, plan.neurons());
                       workers[worker]->collect.add(events.ids.data() + events.start[t],
                                                    events.counts[t], by_current, by_weights);
                       workers[worker]->inputs.write(events, t, b, by_current);
                     }
                     workers[worker]->inputs.finish(events, b);
                   });
}

} // namespace lif
