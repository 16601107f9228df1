// The backward pass, from the readout to the first layer, each over the whole sequence. Every sum
// has one order, by sample, then step, for any number of threads and any groups of samples.
#include "layer_backward.h"
#include "passes/phases.h"
#include "passes/sequence.h"
#include "readout_backward.h"
#include "sample_group.h"
#include "support/pool.h"
#include "weight_sums.h"

#include <algorithm>
#include <stdexcept>

namespace lif {
namespace {

class Backward {
public:
  Backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient,
           RunningSums *sums)
      : call_(kernel, n, gradient, sums), n_(n) {}

  void run() {
    std::unique_ptr<Spikes> own;
    GradCurrent current;
    enter_layer(n_.layers);
    if (n_.layer[n_.layers - 1].recurrent || n_.leaky_readout)
      own = emitted_by(n_.layers - 1);
    if (n_.leaky_readout) {
      current = pass_readout(call_, own.get());
      sum_gradients(n_.layers, current, *own, nullptr);
    }
    for (int number = n_.layers - 1; number >= 0; --number) {
      enter_layer(number);
      // The lists take much memory: each exists only while it is read.
      if (!n_.layer[number].recurrent)
        own.reset();
      std::unique_ptr<Spikes> input;
      if (call_.replays(number))
        input = entering(number);
      current =
          pass_layer(call_, number, input.get(), own.get(), std::move(current), may_defer(number));
      if (!input)
        input = entering(number);
      sum_gradients(number, current, *input, own.get());
      current.deferred = nullptr; // releases what it refers to
      own = std::move(input);
    }
    if (call_.gradient.grad_inputs)
      pass_inputs(current, *own);
  }

private:
  std::unique_ptr<Spikes> entering(int number) const {
    return number ? emitted_by(number - 1) : input_spikes(n_, call_.threads, n_.counts);
  }

  BitRows bits_of(int number) const {
    return BitRows(n_.layer[number], call_.rows, call_.gradient.record[number].bits);
  }

  std::unique_ptr<Spikes> emitted_by(int number) const {
    BitRows bits = bits_of(number);
    return list_spikes(call_.kernel, n_, call_.threads, bits.emitted, bits.row_bytes);
  }

  // dL/ds of the neurons in the input's slots.
  void pass_inputs(const GradCurrent &first, const Spikes &spikes) {
    std::unique_ptr<Spikes> filled =
        n_.filled ? input_spikes(n_, call_.threads, n_.filled) : nullptr;
    const Spikes &input = filled ? *filled : spikes;
    float *grad = call_.gradient.grad_inputs;
    auto weights = pack_weights(call_.kernel, call_.threads, n_.layer[0].weights, n_.inputs,
                                n_.layer[0].neurons, first.panels, false, n_.weights);
    std::fill(grad, grad + call_.rows * n_.input_slots, 0.0f);
    parallel_for(call_.threads, call_.rows, [&](int64_t row, int) {
      int64_t b = row / n_.steps, t = row % n_.steps, delay = n_.layer[0].delay;
      if (t + delay >= n_.steps)
        return;
      int64_t start[2] = {0, input.start[row + 1] - input.start[row]};
      SampledProduct a{};
      a.steps = a.last = 1;
      a.next = {first.panels, first.floats + (row + delay) * first.panels.width, call_.rows};
      a.storage = n_.weights;
      a.weights = weights->get();
      a.neurons = n_.inputs;
      a.start = start;
      a.ids = input.ids + input.start[row];
      a.product = grad + (t * n_.batch + b) * n_.input_slots;
      call_.kernel.sampled_product(a);
    });
  }

  // Computes the gradients of the weights and the bias of layer `number` from its dL/dI, `current`.
  // own: the spikes of a recurrent layer, else null.
  void sum_gradients(int number, const GradCurrent &current, const Spikes &input,
                     const Spikes *own) {
    const LifGradient &wanted = call_.gradient.gradient[number];
    if (wanted.weights)
      sum_weight_gradient(call_, current, input, inputs_of(n_, number), n_.layer[number].delay,
                          wanted.weights);
    if (own && wanted.recurrent)
      sum_weight_gradient(call_, current, *own, n_.layer[number].neurons, 1, wanted.recurrent);
    if (wanted.bias)
      sum_bias_gradient(call_, number, current, wanted.bias);
  }

  // Returns true if the weight gradient of a layer may compute dL/dI: nothing reads it before, and
  // the deferral takes no more time.
  bool may_defer(int number) const {
    const LifGradient &wanted = call_.gradient.gradient[number];
    return wanted.weights && !wanted.bias && !call_.gradient.grad_inputs &&
           sums_by_sample(n_, call_.threads, cut(call_.kernel, n_, number), inputs_of(n_, number));
  }

  const BackwardCall call_;
  const LifNetwork &n_;
};

} // namespace

void run_backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient) {
  int samples = samples_of_group(kernel, n, gradient);
  if (samples >= n.batch)
    return Backward(kernel, n, gradient, nullptr).run();
  RunningSums sums(n);
  SampleGroup group(n, gradient, samples);
  try {
    for (int first = 0; first < n.batch; first += samples) {
      group.read(first, std::min(samples, n.batch - first));
      Backward(kernel, group.network(), group.gradient(), &sums).run();
      group.write_back();
      sums.continues = true;
    }
  } catch (const std::invalid_argument &) {
    input_spikes(n, 1, n.counts); // a mistake in the input, by its place in the whole batch
    throw;
  }
}

} // namespace lif
