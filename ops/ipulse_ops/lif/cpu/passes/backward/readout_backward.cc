#include "readout_backward.h"

#include "passes/sequence.h"
#include "replay.h"
#include "support/pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lif {
namespace {

// dL/dI of each step in terms of the last one's, if that is the same for all neurons: if they decay
// alike and the loss's derivative by their membranes is the same at all steps, as by the mean of
// them. Then lambda[t] = g + decay lambda[t + 1] is g times 1 + decay + ... of T - t terms.
std::vector<float> multiples_of_last(const LifNetwork &n, const float *grad_membrane) {
  const LifLayer &readout = n.layer[n.layers];
  const float *decay = readout.decay;
  int64_t step = int64_t(n.batch) * readout.neurons;
  if (!n.steps || std::any_of(decay, decay + readout.neurons, [=](float d) { return d != *decay; }))
    return {};
  for (int t = 1; t < n.steps; ++t)
    if (std::memcmp(grad_membrane, grad_membrane + t * step, step * sizeof(float)) != 0)
      return {};
  std::vector<float> multiples(n.steps);
  double sum = 0;
  for (int t = n.steps - 1; t >= 0; --t)
    multiples[t] = static_cast<float>(sum = 1 + static_cast<double>(*decay) * sum);
  return multiples;
}

} // namespace

GradCurrent pass_readout(const BackwardCall &call, const Spikes *input) {
  const LifNetwork &n = call.n;
  int number = n.layers;
  const LifLayer &readout = n.layer[number];
  Panels panels = cut(call.kernel, n, number);
  LayerConstants constants(readout, panels);
  int64_t tasks = int64_t(panels.count) * n.batch;
  auto room_for = [&](int64_t rows) {
    std::unique_ptr<Buffer<float>> storage(new Buffer<float>(dense_membranes(panels, rows)));
    return GradCurrent(panels, std::move(storage), nullptr);
  };
  if (readout.synapse_decay || call.wants_constants(number)) {
    GradCurrent current = room_for(call.rows);
    Replay replay(call, number, input, nullptr);
    parallel_for(call.threads, tasks, [&](int64_t task, int worker) {
      int p = static_cast<int>(task / n.batch), b = static_cast<int>(task % n.batch);
      PanelBackward a = call.panel(number, current, constants, p, b);
      replay.run(p, b, 0, worker);
      replay.show(a, p, b, 0, worker);
      call.kernel.general_backward(a);
    });
    replay.write_sums();
    return current;
  }
  std::vector<float> of_last = multiples_of_last(n, call.gradient.grad_membrane);
  int steps = of_last.empty() ? n.steps : 1;
  GradCurrent current = room_for(int64_t(n.batch) * steps);
  parallel_for(call.threads, tasks, [&](int64_t task, int) {
    int p = static_cast<int>(task / n.batch), b = static_cast<int>(task % n.batch);
    LeakyBackward a;
    a.steps = steps;
    a.vectors = panels.vectors;
    a.columns = panels.columns(p);
    a.grad = call.gradient.grad_membrane + int64_t(b) * readout.neurons + panels.first(p);
    a.grad_stride = int64_t(n.batch) * readout.neurons;
    a.constants = constants.of(p);
    a.grad_current = current.floats + task * steps * panels.width;
    call.kernel.leaky_backward(a);
  });
  current.of_last = std::move(of_last);
  return current;
}

} // namespace lif
