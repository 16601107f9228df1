#include "readout_backward.h"

#include "passes/sequence.h"
#include "replay.h"
#include "support/pool.h"

#include <utility>

namespace lif {
GradCurrent pass_readout(const BackwardCall &call, const Spikes *input) {
  const LifNetwork &n = call.n;
  int number = n.layers;
  const LifLayer &readout = n.layer[number];
  Panels panels = cut(call.kernel, n, number);
  LayerConstants constants(readout, panels);
  int64_t tasks = int64_t(panels.count) * n.batch;
  std::unique_ptr<Buffer<float>> storage(new Buffer<float>(dense_membranes(panels, call.rows)));
  GradCurrent current(panels, std::move(storage), nullptr);
  if (is_general(readout) || cuts_gradients(n) || call.wants_constants(number)) {
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
  parallel_for(call.threads, tasks, [&](int64_t task, int) {
    int p = static_cast<int>(task / n.batch), b = static_cast<int>(task % n.batch);
    LeakyBackward a;
    a.steps = n.steps;
    a.vectors = panels.vectors;
    a.columns = panels.columns(p);
    a.grad = call.gradient.grad_membrane + int64_t(b) * readout.neurons + panels.first(p);
    a.grad_stride = int64_t(n.batch) * readout.neurons;
    a.constants = constants.of(p);
    a.grad_current = current.floats + task * n.steps * panels.width;
    call.kernel.leaky_backward(a);
  });
  return current;
}

} // namespace lif
