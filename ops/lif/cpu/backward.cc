// The backward pass: from the readout to the first layer, each over the whole sequence. Every sum
// has one order, by sample, then step, whoever computes it.
#include "phases.h"
#include "pool.h"
#include "replay.h"
#include "sequence.h"
#include "slot_gradient.h"
#include "strassen.h"
#include "weight_sums.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace lif {
namespace {

// Rows of the dense product at a time: few enough to lie in the L2 cache, many enough to read
// each weight seldom.
constexpr int PRODUCT_ROWS = 192;

class Backward {
public:
  Backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient)
      : kernel_(kernel), n_(n), gradient_(gradient),
        threads_(n.threads ? n.threads : default_threads()), rows_(int64_t(n.batch) * n.steps) {}

  void run() {
    std::unique_ptr<Spikes> own = emitted_by(n_.layers - 1);
    enter_layer(n_.layers);
    if (n_.leaky_readout) {
      leave_readout(*own);
      sum_gradients(n_.layers, *own, nullptr);
    }
    for (int number = n_.layers - 1; number >= 0; --number) {
      enter_layer(number);
      std::unique_ptr<Spikes> input = number ? emitted_by(number - 1) : input_spikes(n_, n_.counts);
      pass_layer(number, *input, *own);
      sum_gradients(number, *input, own.get());
      own = std::move(input);
    }
    if (gradient_.grad_inputs)
      pass_inputs(*own);
  }

private:
  std::unique_ptr<Spikes> emitted_by(int number) {
    BitRows bits(n_.layer[number], rows_, gradient_.record[number].bits);
    return list_spikes(kernel_, n_, threads_, bits.emitted, bits.row_bytes);
  }

  bool wants_constants(int number) const {
    const LifGradient &wanted = gradient_.gradient[number];
    return wanted.decay || wanted.scale || wanted.synapse_decay || wanted.threshold;
  }

  const float *grad_u_of(int number) const {
    if (number == n_.layers)
      return gradient_.grad_membrane;
    return gradient_.grad_u ? gradient_.grad_u[number] : nullptr;
  }

  // What general_backward needs of a layer, all steps.
  PanelBackward panel(int number, const Panels &panels, const LayerConstants &constants,
                      float *grad_current, int p, int b) const {
    const LifLayer &layer = n_.layer[number];
    PanelBackward a{};
    a.steps = a.last = n_.steps;
    a.vectors = panels.vectors;
    a.columns = panels.columns(p);
    a.constants = constants.of(p);
    a.first_neuron = panels.first(p);
    int64_t row = int64_t(b) * n_.steps;
    a.grad_current = grad_current + (p * rows_ + row) * panels.width;
    a.spiking = number < n_.layers;
    a.reset = n_.reset;
    a.reset_gradient = n_.reset_gradient;
    a.surrogate = &n_.surrogate;
    if (const float *grad_u = grad_u_of(number))
      a.grad_u = grad_u + int64_t(b) * layer.neurons + panels.first(p);
    a.grad_u_stride = int64_t(n_.batch) * layer.neurons;
    return a;
  }

  void leave_readout(const Spikes &input) {
    int number = n_.layers;
    const LifLayer &readout = n_.layer[number];
    panels_ = cut(kernel_, n_, n_.layers);
    LayerConstants constants(readout, panels_);
    grad_current_.reset(new Buffer<float>(dense_membranes(panels_, rows_)));
    if (readout.synapse_decay || wants_constants(number)) {
      Replay replay(kernel_, n_, gradient_, number, threads_, input, nullptr);
      parallel_for(threads_, int64_t(panels_.count) * n_.batch, [&](int64_t task, int worker) {
        int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
        PanelBackward a = panel(number, panels_, constants, grad_current_->get(), p, b);
        replay.run(p, b, 0, worker);
        replay.show(a, p, b, 0, worker);
        kernel_.general_backward(a);
      });
      replay.write_sums();
      return;
    }
    parallel_for(threads_, int64_t(panels_.count) * n_.batch, [&](int64_t task, int) {
      int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
      LeakyBackward a;
      a.steps = n_.steps;
      a.vectors = panels_.vectors;
      a.columns = panels_.columns(p);
      a.grad = gradient_.grad_membrane + int64_t(b) * readout.neurons + panels_.first(p);
      a.grad_stride = int64_t(n_.batch) * readout.neurons;
      a.constants = constants.of(p);
      a.grad_current = grad_current_->get() + task * n_.steps * panels_.width;
      kernel_.leaky_backward(a);
    });
  }

  // From dL/dI of the layer after it, if there is one, to dL/dI of layer `number`.
  void pass_layer(int number, const Spikes &input, const Spikes &own) {
    const LifLayer &layer = n_.layer[number];
    BitRows bits(layer, rows_, gradient_.record[number].bits);
    Panels panels = cut(kernel_, n_, number);
    LayerConstants constants(layer, panels);
    bool last = number + 1 == n_.layers + n_.leaky_readout;
    bool sparse = is_sparse(layer);
    bool plain = !last && !layer.recurrent && !layer.synapse_decay && !grad_u_of(number) &&
                 !wants_constants(number) && n_.reset == LIF_RESET_ZERO &&
                 n_.reset_gradient != LIF_RESET_GRADIENT_NONE &&
                 n_.surrogate.kind == LIF_SUPERSPIKE;
    bool dense = !last && !sparse;
    const float *weights = last ? nullptr : n_.layer[number + 1].weights;
    int after = last ? 0 : n_.layer[number + 1].neurons;
    LayerGradient next{panels_, last ? nullptr : grad_current_->get(), rows_};
    std::unique_ptr<Spikes> kept;
    if (sparse)
      kept = list_spikes(kernel_, n_, threads_, bits.kept, bits.row_bytes);
    Replay replay(kernel_, n_, gradient_, number, threads_, input, &own);
    const float *membranes = gradient_.record[number].membranes;
    std::unique_ptr<Buffer<float>> again;
    if (n_.store == LIF_STORE_SPIKES) {
      again = replay.membranes(kept.get());
      membranes = again->get();
    }
    const float *grad_spikes = gradient_.grad_spikes ? gradient_.grad_spikes[number] : nullptr;
    std::unique_ptr<Buffer<float>> product;
    if (sparse)
      product = slot_gradient(kernel_, n_, threads_, layer, bits, *kept, next, weights, grad_spikes,
                              plain ? membranes : nullptr);
    std::unique_ptr<Buffer<float>> grad_current(new Buffer<float>(dense_membranes(panels, rows_)));
    auto panel_of = [&](int p, int b) {
      PanelBackward a = panel(number, panels, constants, grad_current->get(), p, b);
      int64_t row = int64_t(b) * n_.steps, place = row * bits.row_bytes;
      a.term = n_.reset_gradient == LIF_RESET_GRADIENT_TERM;
      a.above = (n_.reset_on == LIF_RESET_ON_EMISSION ? bits.emitted : bits.above) + place;
      a.row_bytes = bits.row_bytes;
      if (sparse) {
        a.kept = bits.kept + place;
        a.start = &kept->start[row];
        a.product = product->get();
        a.membranes = membranes;
        return a;
      }
      a.delay = n_.delay;
      a.membranes = membranes + (p * rows_ + row) * panels.width;
      a.grad_spikes = grad_spikes ? grad_spikes + int64_t(b) * layer.slots : nullptr;
      a.grad_spikes_stride = int64_t(n_.batch) * layer.slots;
      a.slope = n_.surrogate.slope;
      return a;
    };
    if (layer.recurrent) {
      std::unique_ptr<Buffer<float>> transposed;
      if (dense)
        transposed = pack_weights(kernel_, threads_, weights, layer.neurons, after, panels, true,
                                  n_.weights);
      auto multiply_step = [&](PanelBackward &a, int p, int b, int t, float *products) {
        if (!dense || t + n_.delay >= n_.steps)
          return;
        int64_t row = int64_t(b) * n_.steps + t + n_.delay;
        const float *panel = transposed->get() + int64_t(p) * after * panels.width;
        kernel_.dense_product({panels.vectors, row, 1, next, panel, products});
        a.products = products;
      };
      pass_by_step(number, panels, kept.get(), product.get(), grad_current->get(), replay, panel_of,
                   multiply_step);
    } else {
      auto run = !plain   ? kernel_.general_backward
                 : sparse ? kernel_.sparse_backward
                          : kernel_.dense_backward;
      int workers = dense ? threads_ : 0, done = 0;
      if (dense) {
        Strassen wide(kernel_, n_, threads_, next, weights, panels);
        done = wide.samples();
        wide.run([&](int p, int b, float *products, int worker) {
          PanelBackward a = panel_of(p, b);
          a.products = products + n_.delay * panels.width;
          replay.run(p, b, 0, worker);
          replay.show(a, p, b, 0, worker);
          run(a);
        });
      }
      PanelTasks tasks(panels, n_.batch - done, threads_);
      WorkerPanel transposed(workers, kernel_.pack_transposed, weights, layer.neurons, after,
                             panels, int64_t(after) * panels.width, n_.weights);
      int block = std::max(1, PRODUCT_ROWS / std::max(1, n_.steps)); // samples
      int64_t sample = int64_t(n_.steps) * panels.width;
      Buffer<float> all_products(workers * block * sample);
      parallel_for(threads_, tasks.count(), [&](int64_t task, int worker) {
        int p = tasks.panel(task), first = done + tasks.first(task);
        int last_sample = done + tasks.last(task);
        for (int b = first; b < last_sample; ++b) {
          PanelBackward a = panel_of(p, b);
          if (dense) {
            float *products = all_products.get() + worker * block * sample;
            int64_t rows = int64_t(std::min(block, last_sample - b)) * n_.steps;
            if ((b - first) % block == 0)
              kernel_.dense_product({panels.vectors, int64_t(b) * n_.steps, rows, next,
                                     transposed.get(worker, p), products});
            a.products = products + (b - first) % block * sample + n_.delay * panels.width;
          }
          replay.run(p, b, 0, worker);
          replay.show(a, p, b, 0, worker);
          run(a);
        }
      });
    }
    replay.write_sums();
    grad_current_ = std::move(grad_current);
    panels_ = panels;
  }

  // A recurrent layer: dL/ds of a step takes dL/dI of all neurons one step later.
  template <class PanelOf, class MultiplyStep>
  void pass_by_step(int number, const Panels &panels, const Spikes *kept, Buffer<float> *product,
                    const float *grad_current, const Replay &replay, PanelOf panel_of,
                    MultiplyStep multiply_step) {
    const LifLayer &layer = n_.layer[number];
    auto recurrent = pack_weights(kernel_, threads_, layer.recurrent, layer.neurons, layer.neurons,
                                  panels, false, n_.weights);
    std::vector<int32_t> everybody(layer.neurons);
    std::iota(everybody.begin(), everybody.end(), 0);
    int64_t padded = int64_t(panels.count) * panels.width;
    Buffer<float> states(3 * padded * threads_);
    parallel_for(threads_, n_.batch, [&](int64_t b, int worker) {
      float *lambda = states.get() + 3 * padded * worker, *grad_i = lambda + padded,
            *extra = grad_i + padded;
      std::fill(lambda, lambda + 3 * padded, 0.0f);
      for (int p = 0; p < panels.count; ++p)
        replay.run(p, static_cast<int>(b), p, worker);
      for (int t = n_.steps - 1; t >= 0; --t) {
        int64_t row = b * n_.steps + t;
        if (t + 1 < n_.steps) {
          int64_t start[2] = {0, kept ? kept->start[row + 1] - kept->start[row] : layer.neurons};
          SampledProduct a{};
          a.steps = a.last = 1;
          a.next = {panels, grad_current + (row + 1) * panels.width, rows_};
          a.weights = recurrent->get();
          a.neurons = layer.neurons;
          a.start = start;
          a.ids = kept ? kept->ids + kept->start[row] : everybody.data();
          a.product = kept ? product->get() + kept->start[row] : extra;
          if (!kept)
            std::fill(extra, extra + padded, 0.0f);
          kernel_.sampled_product(a);
        }
        for (int p = 0; p < panels.count; ++p) {
          PanelBackward a = panel_of(p, static_cast<int>(b));
          float products[MAX_WIDTH];
          multiply_step(a, p, static_cast<int>(b), t, products);
          a.first = t;
          a.last = t + 1;
          a.lambda = lambda + p * panels.width;
          a.grad_i = grad_i + p * panels.width;
          a.extra = extra + p * panels.width;
          replay.show(a, p, static_cast<int>(b), p, worker);
          kernel_.general_backward(a);
        }
      }
    });
  }

  // dL/ds of the input's spikes, and of whoever else has a slot.
  void pass_inputs(const Spikes &spikes) {
    std::unique_ptr<Spikes> filled = n_.filled ? input_spikes(n_, n_.filled) : nullptr;
    const Spikes &input = filled ? *filled : spikes;
    auto weights = pack_weights(kernel_, threads_, n_.layer[0].weights, n_.inputs,
                                n_.layer[0].neurons, panels_, false, n_.weights);
    std::fill(gradient_.grad_inputs, gradient_.grad_inputs + rows_ * n_.input_slots, 0.0f);
    parallel_for(threads_, rows_, [&](int64_t row, int) {
      int64_t b = row / n_.steps, t = row % n_.steps;
      int64_t start[2] = {0, input.end[row] - input.begin[row]};
      SampledProduct a{};
      a.steps = a.last = 1;
      a.next = {panels_, grad_current_->get() + row * panels_.width, rows_};
      a.weights = weights->get();
      a.neurons = n_.inputs;
      a.start = start;
      a.ids = input.ids + input.begin[row];
      a.product = gradient_.grad_inputs + (t * n_.batch + b) * n_.input_slots;
      kernel_.sampled_product(a);
    });
  }

  // Of layer `number`, whose dL/dI is grad_current_: by its weights and bias.
  void sum_gradients(int number, const Spikes &input, const Spikes *own) {
    const LifGradient &wanted = gradient_.gradient[number];
    LayerGradient layer{panels_, grad_current_->get(), rows_};
    auto sum = [&](const Spikes &spikes, int channels, int delay, float *grad) {
      if (grad)
        sum_weight_gradient(kernel_, n_, threads_, layer, spikes, channels, delay, grad);
    };
    sum(input, inputs_of(n_, number), number ? n_.delay : 0, wanted.weights);
    if (own)
      sum(*own, n_.layer[number].neurons, 1, wanted.recurrent);
    if (wanted.bias)
      sum_bias_gradient(n_, threads_, layer, wanted.bias);
  }

  const Kernel &kernel_;
  const LifNetwork &n_;
  const LifBackward &gradient_;
  int threads_;
  int64_t rows_;
  // Of the layer that was passed last:
  Panels panels_{};
  std::unique_ptr<Buffer<float>> grad_current_; // dL/dI, [panels][rows][width]
};

} // namespace

void run_backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient) {
  Backward(kernel, n, gradient).run();
}

} // namespace lif
