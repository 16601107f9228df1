// The backward pass: from the readout to the first layer, each over the whole sequence. Every sum
// has one order, by sample, then step, whoever computes it.
#include "layer_backward.h"
#include "passes/sequence.h"
#include "passes/strassen/strassen.h"
#include "readout_backward.h"
#include "support/phases.h"
#include "support/pool.h"
#include "weight_sums.h"

#include <algorithm>

namespace lif {
namespace {

class Backward {
public:
  Backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient)
      : call_(kernel, n, gradient), n_(n) {}

  void run() {
    std::unique_ptr<Spikes> own;
    GradCurrent current;
    int late = n_.layers + 1; // the layer whose sums are still to come
    enter_layer(n_.layers);
    if (n_.layer[n_.layers - 1].recurrent || (n_.leaky_readout && call_.replays(n_.layers)))
      own = emitted_by(n_.layers - 1);
    if (n_.leaky_readout) {
      current = pass_readout(call_, own.get());
      if (!own && current.of_last.empty())
        own = emitted_by(n_.layers - 1);
      sum_gradients(n_.layers, current, own.get(), nullptr);
    }
    for (int number = n_.layers - 1; number >= 0; --number) {
      enter_layer(number);
      // Lists are long: none is there while nobody reads it.
      if (!n_.layer[number].recurrent)
        own.reset();
      std::unique_ptr<Spikes> input;
      if (call_.replays(number))
        input = entering(number);
      GradCurrent after = number + 1 == late ? current : GradCurrent();
      current = pass_layer(call_, number, input.get(), own.get(), std::move(current),
                           gradients_of(number, late), sums_may_make(number));
      if (after.floats) {
        enter_layer(late);
        sum_gradients(late, after, emitted_by(number).get(), nullptr);
        after = GradCurrent();
        enter_layer(number);
      }
      if (sums_late(number, current)) {
        late = number;
        own = std::move(input);
        continue;
      }
      if (!input)
        input = entering(number);
      sum_gradients(number, current, input.get(), own.get());
      current.make = nullptr; // and what it holds
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

  // dL/ds of the input's spikes, and of whoever else has a slot.
  void pass_inputs(const GradCurrent &first, const Spikes &spikes) {
    std::unique_ptr<Spikes> filled =
        n_.filled ? input_spikes(n_, call_.threads, n_.filled) : nullptr;
    const Spikes &input = filled ? *filled : spikes;
    float *grad = call_.gradient.grad_inputs;
    auto weights = pack_weights(call_.kernel, call_.threads, n_.layer[0].weights, n_.inputs,
                                n_.layer[0].neurons, first.panels, false, n_.weights);
    std::fill(grad, grad + call_.rows * n_.input_slots, 0.0f);
    parallel_for(call_.threads, call_.rows, [&](int64_t row, int) {
      int64_t b = row / n_.steps, t = row % n_.steps;
      int64_t start[2] = {0, input.start[row + 1] - input.start[row]};
      SampledProduct a{};
      a.steps = a.last = 1;
      a.next = {first.panels, first.floats + row * first.panels.width, call_.rows};
      a.storage = n_.weights;
      a.weights = weights->get();
      a.neurons = n_.inputs;
      a.start = start;
      a.ids = input.ids + input.start[row];
      a.product = grad + (t * n_.batch + b) * n_.input_slots;
      call_.kernel.sampled_product(a);
    });
  }

  // By the weights and bias of layer `number`, whose dL/dI is `current`. input: null if the rows of
  // that are multiples of one; own: of a recurrent layer.
  void sum_gradients(int number, const GradCurrent &current, const Spikes *input,
                     const Spikes *own) {
    const LifGradient &wanted = call_.gradient.gradient[number];
    int channels = inputs_of(n_, number);
    if (wanted.weights && !current.of_last.empty())
      sum_scaled_gradient(call_, current, bits_of(number - 1), channels, wanted.weights);
    else if (wanted.weights)
      sum_weight_gradient(call_, current, *input, channels, number ? n_.delay : 0, wanted.weights);
    if (own && wanted.recurrent)
      sum_weight_gradient(call_, current, *own, n_.layer[number].neurons, 1, wanted.recurrent);
    if (wanted.bias) {
      GradCurrent all;
      if (!current.of_last.empty())
        all = call_.every_row(current);
      sum_bias_gradient(n_, call_.threads, call_.layer(all.floats ? all : current), wanted.bias);
    }
  }

  // Whether dL/dI of a layer may be made where its weights' gradient sums it: nothing else reads it
  // meanwhile, it is fast enough, and the weights' gradient has nothing to hold before.
  bool sums_may_make(int number) const {
    const LifGradient &wanted = call_.gradient.gradient[number];
    return wanted.weights && !holds_sums(number) && !wanted.bias &&
           !call_.wants_constants(number) && !call_.gradient.grad_inputs &&
           sums_by_sample(n_, call_.threads, cut(call_.kernel, n_, number), inputs_of(n_, number));
  }

  // The gradients by weights that are summed after the pass of layer `number`: its own and, if that
  // is `late`, the next one's.
  IdleMemory gradients_of(int number, int late) const {
    IdleMemory found;
    for (int of : {number, number + 1})
      if (of == number || of == late)
        found.add(call_.gradient.gradient[of].weights,
                  int64_t(inputs_of(n_, of)) * n_.layer[of].neurons);
    return found;
  }

  // Whether the gradient by a layer's weights has room for the sums of weights that the layer
  // before multiplies dL/dI by.
  bool holds_sums(int number) const {
    return number && !n_.layer[number].recurrent && !n_.layer[number - 1].recurrent &&
           !is_sparse(n_.layer[number - 1]) &&
           Strassen::parts(n_, cut(call_.kernel, n_, number - 1), cut(call_.kernel, n_, number)) >
               1;
  }

  // Whether the weights' gradient is summed only when the layer before has been passed: a pass of
  // all neurons reads dL/dI to its end, and meanwhile holds what needs memory in the gradient's.
  bool sums_late(int number, const GradCurrent &current) const {
    return holds_sums(number) && current.floats && !current.make && current.of_last.empty();
  }

  const BackwardCall call_;
  const LifNetwork &n_;
};

} // namespace

void run_backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient) {
  Backward(kernel, n, gradient).run();
}

} // namespace lif
