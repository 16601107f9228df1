#include "backward_call.h"

#include "support/pool.h"

namespace lif {

RunningSums::RunningSums(const LifNetwork &network) {
  for (int number = 0; number < network.layers + network.leaky_readout; ++number) {
    size_t neurons = network.layer[number].neurons;
    bias.emplace_back(neurons);
    constants.emplace_back(CONSTANT_SUMS * neurons);
  }
}

BackwardCall::BackwardCall(const Kernel &kernel, const LifNetwork &network,
                           const LifBackward &gradient, RunningSums *sums)
    : kernel(kernel), n(network), gradient(gradient), sums(sums),
      threads(n.threads ? n.threads : default_threads()), rows(int64_t(n.batch) * n.steps) {}

bool BackwardCall::wants_constants(int number) const {
  const LifGradient &wanted = gradient.gradient[number];
#define LIF_WANTED(name) || wanted.name
  return false LIF_GRADIENTS(LIF_WANTED);
#undef LIF_WANTED
}

const float *BackwardCall::grad_u_of(int number) const {
  if (number == n.layers)
    return gradient.grad_membrane;
  return gradient.grad_u ? gradient.grad_u[number] : nullptr;
}

PanelBackward BackwardCall::panel(int number, const GradCurrent &current,
                                  const LayerConstants &constants, int p, int b) const {
  const Panels &panels = current.panels;
  PanelBackward a{};
  a.steps = a.last = n.steps;
  a.vectors = panels.vectors;
  a.columns = panels.columns(p);
  a.constants = constants.of(p);
  a.first_neuron = panels.first(p);
  int64_t row = int64_t(b) * n.steps;
  if (current.floats)
    a.grad_current = current.floats + (p * rows + row) * panels.width;
  a.spiking = number < n.layers;
  a.reset = n.reset;
  a.reset_gradient = n.reset_gradient;
  a.truncate = n.truncate;
  a.surrogate = &n.surrogate;
  a.detach_adaptation = n.layer[number].detach_adaptation;
  if (const float *grad_u = grad_u_of(number))
    a.grad_u = grad_u + int64_t(b) * panels.neurons + panels.first(p);
  a.grad_u_stride = int64_t(n.batch) * panels.neurons;
  return a;
}

} // namespace lif
