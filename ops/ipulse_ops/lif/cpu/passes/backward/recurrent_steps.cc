// A recurrent layer backward, step by step: dL/ds of a step needs dL/dI of all neurons one step
// later.
#include "layer_pass.h"
#include "support/pool.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lif {

void LayerPass::pass_steps() {
  auto recurrent = pack_weights(call_.kernel, call_.threads, layer_.recurrent, layer_.neurons,
                                layer_.neurons, panels_, false, n_.weights);
  std::unique_ptr<Buffer<float>> transposed;
  if (after_ && !plan_.sparse)
    transposed = pack_weights(call_.kernel, call_.threads, after_->weights, layer_.neurons,
                              after_->neurons, panels_, true, n_.weights);
  std::vector<int32_t> all_neurons(layer_.neurons);
  std::iota(all_neurons.begin(), all_neurons.end(), 0);
  int64_t padded = int64_t(panels_.count) * panels_.width;
  Buffer<float> states(4 * padded * call_.threads);
  parallel_for(call_.threads, n_.batch, [&](int64_t sample, int worker) {
    int b = static_cast<int>(sample);
    float *lambda = states.get() + 4 * padded * worker, *grad_i = lambda + padded,
          *grad_adaptation = grad_i + padded, *extra = grad_adaptation + padded;
    std::fill(lambda, lambda + 4 * padded, 0.0f);
    for (int p = 0; p < panels_.count; ++p) {
      replay_.run(p, b, p, worker);
      adaptation_.run(panel(p, b), p, worker);
    }
    for (int t = n_.steps - 1; t >= 0; --t) {
      if (cuts_gradients(n_) && (t + 1) % n_.truncate == 0)
        std::fill(extra, extra + padded, 0.0f);
      else if (t + 1 < n_.steps)
        add_recurrent(sample * n_.steps + t, recurrent->get(), all_neurons.data(), extra);
      for (int p = 0; p < panels_.count; ++p) {
        PanelBackward a = panel(p, b);
        float products[MAX_WIDTH];
        if (transposed && t + after_->delay < n_.steps) {
          const float *weights = transposed->get() + int64_t(p) * after_->neurons * panels_.width;
          call_.kernel.dense_product({panels_.vectors,
                                      sample * n_.steps + t + after_->delay,
                                      1,
                                      call_.layer(next_),
                                      weights,
                                      {products},
                                      {},
                                      {},
                                      false});
          a.products = products;
        }
        a.first = t;
        a.last = t + 1;
        a.lambda = lambda + p * panels_.width;
        a.grad_i = grad_i + p * panels_.width;
        a.grad_adaptation = grad_adaptation + p * panels_.width;
        a.extra = extra + p * panels_.width;
        replay_.show(a, p, b, p, worker);
        adaptation_.show(a, p, worker);
        call_.kernel.general_backward(a);
      }
    }
  });
}

// Adds dL/ds of a row through the recurrent weights to the product of the slots, or writes that of
// all neurons to `extra`.
void LayerPass::add_recurrent(int64_t row, const float *weights, const int32_t *all_neurons,
                              float *extra) const {
  int64_t start[2] = {0, kept_ ? kept_->start[row + 1] - kept_->start[row] : layer_.neurons};
  SampledProduct a{};
  a.steps = a.last = 1;
  a.next = {panels_, current_.floats + (row + 1) * panels_.width, call_.rows};
  a.storage = n_.weights;
  a.weights = weights;
  a.neurons = layer_.neurons;
  a.start = start;
  a.ids = kept_ ? kept_->ids + kept_->start[row] : all_neurons;
  a.product = kept_ ? product_->get() + kept_->start[row] : extra;
  if (!kept_)
    std::fill(extra, extra + int64_t(panels_.count) * panels_.width, 0.0f);
  call_.kernel.sampled_product(a);
}

} // namespace lif
