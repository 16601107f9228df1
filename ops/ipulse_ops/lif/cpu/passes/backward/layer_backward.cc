#include "layer_backward.h"

#include "passes/sequence.h"
#include "passes/strassen/strassen.h"
#include "replay.h"
#include "slot_gradient.h"
#include "support/pool.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace lif {
namespace {

// Rows of the dense product at a time: few enough to lie in the L2 cache, many enough to read
// each weight seldom.
constexpr int PRODUCT_ROWS = 192;

// Where more than two in five neurons carry gradient, the product of all costs less than theirs.
// A constant: both add up in orders of their own, and the same bits are to come out every time.
constexpr int64_t MANY = 2, OF_ALL = 5;

class LayerBackward : public std::enable_shared_from_this<LayerBackward> {
public:
  LayerBackward(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
                GradCurrent next)
      : call_(call), n_(call.n), number_(number), layer_(n_.layer[number]),
        bits_(layer_, call.rows, call.gradient.record[number].bits),
        panels_(cut(call.kernel, n_, number)), constants_(layer_, panels_),
        sparse_(is_sparse(layer_)), next_(std::move(next)),
        after_(next_.floats ? &n_.layer[number + 1] : nullptr), replay_(call, number, input, own) {
    if (call.gradient.grad_spikes)
      direct_ = call.gradient.grad_spikes[number];
  }

  GradCurrent run(IdleMemory idle, bool later) {
    if (sparse_)
      kept_ = list_spikes(call_.kernel, n_, call_.threads, bits_.kept, bits_.row_bytes);
    const LifRecord &record = call_.gradient.record[number_];
    membranes_ = record.membranes;
    if (n_.store == LIF_STORE_SPIKES) {
      again_ = replay_.membranes(kept_.get());
      membranes_ = again_->get();
    }
    dense_ = !sparse_ || (plain() && !direct_ &&
                          OF_ALL * kept_->start[call_.rows] > MANY * call_.rows * layer_.neurons);
    if (!dense_) {
      product_ =
          slot_gradient(call_, layer_, bits_, *kept_, next_, after_ ? after_->weights : nullptr,
                        direct_, plain() ? membranes_ : nullptr, idle);
      next_ = GradCurrent(); // all that is needed of it is in the product
    }
    if (dense_ && !next_.of_last.empty() && !scaled())
      next_ = call_.every_row(next_);
    bool by_panels = after_ && dense_;
    later = later && !layer_.recurrent && !call_.wants_constants(number_);
    if (later && !number_ && !by_panels) {
      current_.panels = panels_;
      GradCurrent left(panels_, nullptr, nullptr);
      left.make = [self = shared_from_this()](int p, int b, float *rows, int worker) {
        self->pass_panel(p, b, ProductRows(), worker, rows);
      };
      return left;
    }
    // Where every neuron carries gradient, dL/dI has the size of the membranes, and each is read
    // for the last time just before dL/dI is written in its place.
    float *place = nullptr;
    std::shared_ptr<Buffer<float>> storage;
    if (!sparse_ && again_)
      storage = std::move(again_);
    else if (!sparse_ && record.last_use)
      place = record.membranes;
    else
      storage.reset(new Buffer<float>(dense_membranes(panels_, call_.rows)));
    current_ = GradCurrent(panels_, std::move(storage), place);
    std::unique_ptr<Strassen> wide;
    if (by_panels && !layer_.recurrent && !scaled())
      wide.reset(new Strassen(call_.kernel, n_, call_.threads, call_.layer(next_), after_->weights,
                              panels_, std::move(idle), call_.wants_constants(number_)));
    // Left to be made beside the sums as well, but in its place: the layer before reads it, too.
    if (later && !(wide && wide->samples())) {
      GradCurrent left = std::move(current_);
      current_ = GradCurrent(panels_, nullptr, left.floats);
      if (by_panels)
        prepare_products(1);
      left.make = [self = shared_from_this(), by_panels](int p, int b, float *, int worker) {
        if (by_panels)
          self->pass_after_product(p, b, 1, worker);
        else
          self->pass_panel(p, b, ProductRows(), worker);
      };
      return left;
    }
    if (layer_.recurrent)
      pass_by_step();
    else if (by_panels)
      pass_dense(std::move(wide));
    else
      pass_samples();
    replay_.write_sums();
    return std::move(current_);
  }

private:
  // Whether the faster loops of panel_backward.h compute this layer.
  bool plain() const {
    return after_ && !layer_.recurrent && !layer_.synapse_decay && !call_.grad_u_of(number_) &&
           !call_.wants_constants(number_) && n_.reset == LIF_RESET_ZERO &&
           n_.reset_gradient != LIF_RESET_GRADIENT_NONE && n_.surrogate.kind == LIF_SUPERSPIKE;
  }

  // Whether one row of products is enough for all steps of a sample.
  bool scaled() const { return plain() && dense_ && !direct_ && !next_.of_last.empty(); }

  PanelBackward panel(int p, int b) const {
    PanelBackward a = call_.panel(number_, current_, constants_, p, b);
    int64_t row = int64_t(b) * n_.steps, place = row * bits_.row_bytes;
    a.term = n_.reset_gradient == LIF_RESET_GRADIENT_TERM;
    a.above = (n_.reset_on == LIF_RESET_ON_EMISSION ? bits_.emitted : bits_.above) + place;
    a.row_bytes = bits_.row_bytes;
    if (sparse_) {
      a.kept = bits_.kept + place;
      a.start = &kept_->start[row];
      a.membranes = membranes_;
    } else {
      a.membranes = membranes_ + (p * call_.rows + row) * panels_.width;
    }
    if (!dense_) {
      a.product = product_->get();
      return a;
    }
    a.delay = n_.delay;
    a.grad_spikes = direct_ ? direct_ + int64_t(b) * layer_.slots : nullptr;
    a.grad_spikes_stride = int64_t(n_.batch) * layer_.slots;
    a.slope = n_.surrogate.slope;
    return a;
  }

  // The steps of panel p and sample b that rows of dL/dI of the layer after it reach; all without
  // products. grad_current: where dL/dI of this sample goes, if not to its place in current_.
  void pass_panel(int p, int b, const ProductRows &rows, int worker,
                  float *grad_current = nullptr) const {
    PanelBackward a = panel(p, b);
    if (grad_current)
      a.grad_current = grad_current;
    if (rows.products && scaled()) {
      a.products = rows.products;
      a.multiples = next_.of_last.data();
    } else if (rows.products) {
      a.first = std::max(0, rows.first - n_.delay);
      a.last = rows.last == n_.steps ? n_.steps : rows.last - n_.delay;
      a.products = rows.products + (a.first + n_.delay - rows.first) * panels_.width;
    }
    if (rows.state) {
      a.lambda = rows.state;
      a.grad_i = rows.state + panels_.width;
    }
    replay_.run(p, b, 0, worker);
    replay_.show(a, p, b, 0, worker);
    auto run = !plain() ? call_.kernel.general_backward
               : dense_ ? call_.kernel.dense_backward
                        : call_.kernel.sparse_backward;
    run(a);
  }

  void pass_samples() {
    parallel_for(call_.threads, int64_t(panels_.count) * n_.batch, [&](int64_t task, int worker) {
      int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
      pass_panel(p, b, ProductRows(), worker);
    });
  }

  // All neurons, or many, carry gradient from the layer after it. wide: or null.
  void pass_dense(std::unique_ptr<Strassen> wide) {
    int done = wide ? wide->samples() : 0;
    if (done)
      wide->run([&](int p, int b, const ProductRows &rows, int worker) {
        pass_panel(p, b, rows, worker);
      });
    wide.reset(); // its memory is what the rest takes
    if (done == n_.batch)
      return;
    PanelTasks tasks(panels_, n_.batch - done, call_.threads);
    int block = std::max(1, PRODUCT_ROWS / std::max(1, n_.steps)); // samples
    prepare_products(block);
    parallel_for(call_.threads, tasks.count(), [&](int64_t task, int worker) {
      int p = tasks.panel(task), first = done + tasks.first(task), last = done + tasks.last(task);
      for (int b = first; b < last; b += block)
        pass_after_product(p, b, std::min(block, last - b), worker);
    });
  }

  // samples: at a time.
  void prepare_products(int samples) {
    transposed_.reset(new WorkerPanel(call_.threads, call_.kernel.pack_transposed, after_->weights,
                                      layer_.neurons, after_->neurons, panels_,
                                      int64_t(after_->neurons) * panels_.width, n_.weights));
    products_of_worker_ = int64_t(samples) * n_.steps * panels_.width;
    products_.reset(new Buffer<float>(call_.threads * products_of_worker_));
  }

  // Samples from b on: their products, and then their steps.
  void pass_after_product(int p, int b, int samples, int worker) const {
    float *products = products_->get() + worker * products_of_worker_;
    int rows = scaled() ? 1 : n_.steps; // of a sample
    call_.kernel.dense_product({panels_.vectors,
                                int64_t(b) * rows,
                                int64_t(samples) * rows,
                                call_.layer(next_),
                                transposed_->get(worker, p),
                                {products},
                                {},
                                {}});
    for (int s = 0; s < samples; ++s, products += int64_t(rows) * panels_.width)
      pass_panel(p, b + s, {0, n_.steps, products, nullptr}, worker);
  }

  // A recurrent layer: dL/ds of a step takes dL/dI of all neurons one step later.
  void pass_by_step() {
    auto recurrent = pack_weights(call_.kernel, call_.threads, layer_.recurrent, layer_.neurons,
                                  layer_.neurons, panels_, false, n_.weights);
    std::unique_ptr<Buffer<float>> transposed;
    if (after_ && !sparse_)
      transposed = pack_weights(call_.kernel, call_.threads, after_->weights, layer_.neurons,
                                after_->neurons, panels_, true, n_.weights);
    std::vector<int32_t> everybody(layer_.neurons);
    std::iota(everybody.begin(), everybody.end(), 0);
    int64_t padded = int64_t(panels_.count) * panels_.width;
    Buffer<float> states(3 * padded * call_.threads);
    parallel_for(call_.threads, n_.batch, [&](int64_t sample, int worker) {
      int b = static_cast<int>(sample);
      float *lambda = states.get() + 3 * padded * worker, *grad_i = lambda + padded,
            *extra = grad_i + padded;
      std::fill(lambda, lambda + 3 * padded, 0.0f);
      for (int p = 0; p < panels_.count; ++p)
        replay_.run(p, b, p, worker);
      for (int t = n_.steps - 1; t >= 0; --t) {
        if (t + 1 < n_.steps)
          add_recurrent(sample * n_.steps + t, recurrent->get(), everybody.data(), extra);
        for (int p = 0; p < panels_.count; ++p) {
          PanelBackward a = panel(p, b);
          float products[MAX_WIDTH];
          if (transposed && t + n_.delay < n_.steps) {
            const float *weights = transposed->get() + int64_t(p) * after_->neurons * panels_.width;
            call_.kernel.dense_product({panels_.vectors,
                                        sample * n_.steps + t + n_.delay,
                                        1,
                                        call_.layer(next_),
                                        weights,
                                        {products},
                                        {},
                                        {}});
            a.products = products;
          }
          a.first = t;
          a.last = t + 1;
          a.lambda = lambda + p * panels_.width;
          a.grad_i = grad_i + p * panels_.width;
          a.extra = extra + p * panels_.width;
          replay_.show(a, p, b, p, worker);
          call_.kernel.general_backward(a);
        }
      }
    });
  }

  // dL/ds of a row through the recurrent weights: to the slots' product, or to all of `extra`.
  void add_recurrent(int64_t row, const float *weights, const int32_t *everybody,
                     float *extra) const {
    int64_t start[2] = {0, kept_ ? kept_->start[row + 1] - kept_->start[row] : layer_.neurons};
    SampledProduct a{};
    a.steps = a.last = 1;
    a.next = {panels_, current_.floats + (row + 1) * panels_.width, call_.rows};
    a.storage = n_.weights;
    a.weights = weights;
    a.neurons = layer_.neurons;
    a.start = start;
    a.ids = kept_ ? kept_->ids + kept_->start[row] : everybody;
    a.product = kept_ ? product_->get() + kept_->start[row] : extra;
    if (!kept_)
      std::fill(extra, extra + int64_t(panels_.count) * panels_.width, 0.0f);
    call_.kernel.sampled_product(a);
  }

  const BackwardCall &call_;
  const LifNetwork &n_;
  const int number_;
  const LifLayer &layer_;
  const BitRows bits_;
  const Panels panels_;
  const LayerConstants constants_;
  const bool sparse_;
  bool dense_ = false; // whether dL/ds of all neurons is computed
  GradCurrent next_;
  const LifLayer *after_; // null: none
  Replay replay_;
  const float *direct_ = nullptr; // the loss's own derivative by the spikes
  const float *membranes_ = nullptr;
  // Of a sparse layer: the neurons in slots, and their dL/ds.
  std::unique_ptr<Spikes> kept_;
  std::unique_ptr<Buffer<float>> product_;
  std::unique_ptr<Buffer<float>> again_; // the membranes of a layer that ran again
  GradCurrent current_;
  std::unique_ptr<WorkerPanel> transposed_;
  std::unique_ptr<Buffer<float>> products_;
  int64_t products_of_worker_ = 0;
};

} // namespace

GradCurrent pass_layer(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
                       GradCurrent next, IdleMemory idle, bool later) {
  return std::make_shared<LayerBackward>(call, number, input, own, std::move(next))
      ->run(std::move(idle), later);
}

} // namespace lif
