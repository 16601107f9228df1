#include "replay.h"

#include <algorithm>

#include "passes/sequence.h"
#include "support/pool.h"

namespace lif {

Replay::Replay(const BackwardCall &call, int number, const Spikes *input, const Spikes *own)
    : kernel_(call.kernel), n_(call.n), threads_(call.threads), rows_(call.rows),
      layer_(n_.layer[number]), wanted_(call.gradient.gradient[number]), input_(input), own_(own),
      panels_(cut(kernel_, n_, number)), tracing_(call.wants_constants(number)),
      slots_(own ? panels_.count : 1),
      running_(call.sums ? call.sums->constants[number].data() : nullptr) {
  if (number < n_.layers)
    bits_.reset(new BitRows(layer_, rows_, call.gradient.record[number].bits));
  if (call.replays(number))
    packed_.reset(new PackedLayer(kernel_, n_, number, threads_, true));
  if (!tracing_)
    return;
  traces_.reset(new Buffer<float>(threads_ * slots_ * trace_size()));
  int64_t sums = int64_t(panels_.count) * n_.batch * sums_size();
  sums_.reset(new Buffer<float>(sums));
  std::fill(sums_->get(), sums_->get() + sums, 0.0f);
}

std::unique_ptr<Buffer<float>> Replay::membranes(const Spikes *kept) const {
  std::unique_ptr<Buffer<float>> found(
      new Buffer<float>(kept ? kept->start[rows_] : dense_membranes(panels_, rows_)));
  parallel_for(threads_, int64_t(panels_.count) * n_.batch, [&](int64_t task, int) {
    int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
    PanelForward a = panel(p, b);
    if (kept) {
      a.kept = bits_->kept + int64_t(b) * n_.steps * bits_->row_bytes;
      a.start = &kept->start[int64_t(b) * n_.steps];
      a.first_neuron = panels_.first(p);
      a.kept_membranes = found->get();
    } else {
      a.membranes = found->get() + task * n_.steps * panels_.width;
    }
    kernel_.general_forward(a);
  });
  return found;
}

void Replay::run(int p, int b, int slot, int worker) const {
  if (!tracing_)
    return;
  PanelForward a = panel(p, b);
  a.v_trace = trace_of(slot, worker);
  a.i_trace = a.v_trace + trace_size() / 3;
  a.current_trace = a.i_trace + trace_size() / 3;
  kernel_.general_forward(a);
}

void Replay::show(PanelBackward &a, int p, int b, int slot, int worker) const {
  if (!tracing_)
    return;
  a.v_trace = trace_of(slot, worker);
  a.i_trace = a.v_trace + trace_size() / 3;
  a.current_trace = a.i_trace + trace_size() / 3;
  a.sums = sums_->get() + (int64_t(p) * n_.batch + b) * sums_size();
}

void Replay::write_sums() const {
#define LIF_WANTED(name) wanted_.name,
  float *grads[CONSTANT_SUMS] = {LIF_GRADIENTS(LIF_WANTED)};
#undef LIF_WANTED
  for (int which = 0; which < CONSTANT_SUMS; ++which)
    for (int n = 0; grads[which] && n < layer_.neurons; ++n) {
      const float *sum = sums_->get() + int64_t(n / panels_.width) * n_.batch * sums_size() +
                         which * panels_.width + n % panels_.width;
      double none = 0, &total = running_ ? running_[int64_t(which) * layer_.neurons + n] : none;
      for (int b = 0; b < n_.batch; ++b)
        total += static_cast<double>(sum[b * sums_size()]);
      grads[which][n] = static_cast<float>(total);
    }
}

PanelForward Replay::panel(int p, int b) const {
  PanelForward a = packed_->panel(*input_, own_, p, b);
  if (bits_) {
    const uint8_t *reset = n_.reset_on == LIF_RESET_ON_EMISSION ? bits_->emitted : bits_->above;
    a.reset_bits = reset + int64_t(b) * n_.steps * bits_->row_bytes + panels_.first(p) / 8;
    a.row_bytes = bits_->row_bytes;
  }
  return a;
}

} // namespace lif
