#include "layer_backward.h"

#include "layer_pass.h"
#include "passes/sequence.h"
#include "passes/strassen/strassen.h"
#include "slot_gradient.h"
#include "support/pool.h"

#include <algorithm>
#include <utility>

namespace lif {
namespace {

// Rows of a dense product: few enough for the L2 cache, enough to read each weight seldom.
constexpr int PRODUCT_ROWS = 192;

} // namespace

LayerPass::LayerPass(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
                     GradCurrent next, bool may_defer)
    : call_(call), n_(call.n), number_(number), layer_(n_.layer[number]),
      bits_(layer_, call.rows, call.gradient.record[number].bits),
      panels_(cut(call.kernel, n_, number)), constants_(layer_, panels_),
      plan_(plan_layer(call, number, may_defer)), next_(std::move(next)),
      after_(next_.floats ? &n_.layer[number + 1] : nullptr), replay_(call, number, input, own),
      adaptation_(call, layer_, panels_, layer_.recurrent ? panels_.count : 1) {
  if (call.gradient.grad_spikes)
    direct_ = call.gradient.grad_spikes[number];
}

GradCurrent LayerPass::run() {
  read_membranes();
  if (plan_.sparse) {
    product_ = slot_gradient(call_, layer_, bits_, *kept_, next_, after_, direct_,
                             call_.grad_slots_of(number_), plan_.plain ? membranes_ : nullptr);
    next_ = GradCurrent(); // the product contains all that is needed of it
  }
  allocate_current();
  if (plan_.deferral != LayerPlan::Deferral::NONE)
    return defer();
  switch (plan_.strategy) {
  case LayerPlan::Strategy::SLOTS:
    pass_slots();
    break;
  case LayerPlan::Strategy::DENSE:
    pass_dense(0);
    break;
  case LayerPlan::Strategy::STRASSEN:
    pass_strassen();
    break;
  case LayerPlan::Strategy::STEPS:
    pass_steps();
    break;
  }
  replay_.write_sums();
  return std::move(current_);
}

void LayerPass::read_membranes() {
  if (plan_.sparse)
    kept_ = list_spikes(call_.kernel, n_, call_.threads, bits_.kept, bits_.row_bytes);
  membranes_ = call_.gradient.record[number_].membranes;
  if (n_.store == LIF_STORE_SPIKES) {
    replayed_ = replay_.membranes(kept_.get());
    membranes_ = replayed_->get();
  }
}

void LayerPass::allocate_current() {
  float *place = nullptr;
  std::shared_ptr<Buffer<float>> storage;
  switch (plan_.storage) {
  case LayerPlan::Storage::NONE:
    break;
  case LayerPlan::Storage::REPLAYED_MEMBRANES:
    storage = std::move(replayed_);
    break;
  case LayerPlan::Storage::RECORDED_MEMBRANES:
    place = call_.gradient.record[number_].membranes;
    break;
  case LayerPlan::Storage::OWN:
    storage.reset(new Buffer<float>(dense_membranes(panels_, call_.rows)));
  }
  current_ = GradCurrent(panels_, std::move(storage), place);
}

// Returns dL/dI with the function that computes it. This object must not own what it returns.
GradCurrent LayerPass::defer() {
  GradCurrent deferred = std::move(current_);
  current_ = GradCurrent(panels_, nullptr, deferred.floats);
  bool stored = plan_.deferral == LayerPlan::Deferral::STORED;
  if (plan_.strategy == LayerPlan::Strategy::DENSE) {
    prepare_products(1);
    deferred.deferred = [self = shared_from_this()](int p, int b, float *, int worker) {
      self->pass_after_product(p, b, 1, worker);
    };
  } else {
    deferred.deferred = [self = shared_from_this(), stored](int p, int b, float *rows, int worker) {
      self->pass_panel(p, b, nullptr, worker, stored ? nullptr : rows);
    };
  }
  return deferred;
}

void LayerPass::pass_slots() {
  parallel_for(call_.threads, int64_t(panels_.count) * n_.batch, [&](int64_t task, int worker) {
    int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
    pass_panel(p, b, nullptr, worker);
  });
}

void LayerPass::pass_dense(int first_sample) {
  PanelTasks tasks(panels_, n_.batch - first_sample, call_.threads);
  int block = std::max(1, PRODUCT_ROWS / std::max(1, n_.steps)); // samples
  prepare_products(block);
  parallel_for(call_.threads, tasks.count(), [&](int64_t task, int worker) {
    int p = tasks.panel(task);
    int first = first_sample + tasks.first(task), last = first_sample + tasks.last(task);
    for (int b = first; b < last; b += block)
      pass_after_product(p, b, std::min(block, last - b), worker);
  });
}

void LayerPass::pass_strassen() {
  int done;
  {
    Strassen strassen(call_.kernel, n_, call_.threads, call_.layer(next_), after_->weights,
                      panels_);
    strassen.run(
        [&](int p, int b, float *products, int worker) { pass_panel(p, b, products, worker); });
    done = strassen.samples();
  }
  if (done < n_.batch)
    pass_dense(done);
}

void LayerPass::prepare_products(int samples) {
  transposed_.reset(new WorkerPanel(call_.threads, call_.kernel.pack_transposed, after_->weights,
                                    layer_.neurons, after_->neurons, panels_,
                                    int64_t(after_->neurons) * panels_.width, n_.weights));
  worker_products_ = int64_t(samples) * n_.steps * panels_.width;
  products_.reset(new Buffer<float>(call_.threads * worker_products_));
}

void LayerPass::pass_after_product(int p, int sample, int samples, int worker) const {
  float *products = products_->get() + worker * worker_products_;
  call_.kernel.dense_product({panels_.vectors,
                              int64_t(sample) * n_.steps,
                              int64_t(samples) * n_.steps,
                              call_.layer(next_),
                              transposed_->get(worker, p),
                              {products},
                              {},
                              {},
                              false});
  for (int s = 0; s < samples; ++s, products += int64_t(n_.steps) * panels_.width)
    pass_panel(p, sample + s, products, worker);
}

void LayerPass::pass_panel(int p, int sample, float *products, int worker,
                           float *grad_current) const {
  PanelBackward a = panel(p, sample);
  if (grad_current)
    a.grad_current = grad_current;
  if (products)
    a.products = products + int64_t(after_->delay) * panels_.width;
  replay_.run(p, sample, 0, worker);
  replay_.show(a, p, sample, 0, worker);
  adaptation_.run(a, 0, worker);
  adaptation_.show(a, 0, worker);
  auto run = !plan_.plain   ? call_.kernel.general_backward
             : plan_.sparse ? call_.kernel.sparse_backward
                            : call_.kernel.dense_backward;
  run(a);
}

PanelBackward LayerPass::panel(int p, int sample) const {
  PanelBackward a = call_.panel(number_, current_, constants_, p, sample);
  int64_t row = int64_t(sample) * n_.steps, place = row * bits_.row_bytes;
  a.term = n_.reset_gradient == LIF_RESET_GRADIENT_TERM;
  a.above = (n_.reset_on == LIF_RESET_ON_EMISSION ? bits_.emitted : bits_.above) + place;
  a.row_bytes = bits_.row_bytes;
  if (plan_.sparse) {
    a.kept = bits_.kept + place;
    a.start = &kept_->start[row];
    a.membranes = membranes_;
    a.product = product_->get();
    return a;
  }
  a.membranes = membranes_ + (p * call_.rows + row) * panels_.width;
  a.delay = after_ ? after_->delay : 0;
  a.grad_spikes = direct_ ? direct_ + int64_t(sample) * layer_.slots : nullptr;
  a.grad_spikes_stride = int64_t(n_.batch) * layer_.slots;
  a.slope = n_.surrogate.slope;
  return a;
}

GradCurrent pass_layer(const BackwardCall &call, int number, const Spikes *input, const Spikes *own,
                       GradCurrent next, bool may_defer) {
  return std::make_shared<LayerPass>(call, number, input, own, std::move(next), may_defer)->run();
}

} // namespace lif
