// The forward pass: layer after layer, each over the whole sequence. That order is open to a
// network with any delay. Within a layer a panel runs over all steps at once, so that its weights
// stay in cache for all samples, unless a step needs to know all neurons of the step before.
#include "layer_slots.h"
#include "packed_layer.h"
#include "passes/phases.h"
#include "passes/sequence.h"
#include "support/pool.h"

#include <algorithm>
#include <cstring>

namespace lif {
namespace {

class Layer {
public:
  Layer(const Kernel &kernel, const LifNetwork &n, int number, int threads)
      : kernel_(kernel), n_(n), number_(number), threads_(threads),
        rows_(static_cast<int64_t>(n.batch) * n.steps),
        packed_(kernel, n, number, threads, needs_all_neurons(n, number)), layer_(packed_.layer),
        panels_(packed_.panels), sparse_(is_sparse(layer_)), keep_(n.store == LIF_STORE_MEMBRANES) {
  }

  void read_out(const Spikes &input, float *membrane) {
    auto run = is_general(layer_) ? kernel_.general_forward : kernel_.leaky_forward;
    packed_.for_panels(input, [&](PanelForward &a, int p, int b) {
      write_dense(a, membrane, p, b);
      run(a);
    });
  }

  // Runs the layer on `spikes` and replaces them by the layer's own.
  void run(std::unique_ptr<Spikes> &spikes, const LifForward &result) {
    BitRows bits(layer_, rows_, result.bits[number_]);
    // The neurons above the second threshold, before the capacity is looked at.
    Buffer<uint8_t> all_gate(is_truncated(layer_) ? rows_ * bits.row_bytes : 0);
    gate_ = is_truncated(layer_) ? all_gate.get() : bits.kept;
    u_ = result.u ? result.u[number_] : nullptr;
    if (rows_ && int64_t(panels_.count) * panels_.width < 8 * bits.row_bytes) {
      // The panels leave the last bits of a row alone.
      memset(bits.above, 0, rows_ * bits.row_bytes);
      if (sparse_)
        memset(gate_, 0, rows_ * bits.row_bytes);
    }
    if (needs_all_neurons(n_, number_))
      run_by_step(spikes, bits, result);
    else
      run_by_panel(spikes, bits, result);
  }

private:
  // Returns true if a step depends on other neurons of this layer.
  static bool needs_all_neurons(const LifNetwork &n, int number) {
    if (number == n.layers)
      return false; // a readout
    const LifLayer &layer = n.layer[number];
    bool by_emission =
        n.reset_on == LIF_RESET_ON_EMISSION && (n.reset != LIF_RESET_NONE || adapts(layer));
    return layer.recurrent ||
           (is_truncated(layer) && (by_emission || layer.policy == LIF_POLICY_TOP));
  }

  void run_by_panel(std::unique_ptr<Spikes> &spikes, const BitRows &bits,
                    const LifForward &result) {
    bool plain = n_.reset == LIF_RESET_ZERO && !is_general(layer_) && !u_;
    auto run = plain ? kernel_.lif_forward : kernel_.general_forward;
    // A compressed store writes a whole vector, so that the last one may end behind its place.
    int64_t stride = int64_t(n_.steps) * panels_.width + (sparse_ ? kernel_.lanes : 0);
    Buffer<float> raw(keep_ && sparse_ ? stride * panels_.count * n_.batch : 0);
    float *membranes = nullptr;
    if (keep_)
      membranes = sparse_ ? raw.get() : allocate(result, dense_membranes(panels_, rows_));
    packed_.for_panels(*spikes, [&](PanelForward &a, int p, int b) {
      write_bits(a, bits, p, b);
      a.reset_bits = a.above;
      a.membranes = membranes ? membranes + (int64_t(p) * n_.batch + b) * stride : nullptr;
      if (u_)
        write_dense(a, u_, p, b);
      run(a);
    });
    Buffer<int64_t> kept(rows_ + 1);
    LayerSlots slots(kernel_, n_, number_, threads_, bits, gate_);
    spikes = slots.select(false, result, kept.get());
    if (!keep_ || !sparse_)
      return;
    membranes = allocate(result, kept[rows_]);
    Buffer<int64_t> position(int64_t(panels_.count) * threads_);
    parallel_for_runs(threads_, n_.batch, [&](int64_t first, int64_t last, int worker) {
      for (int64_t b = first; b < last; ++b) {
        int64_t place = b * n_.steps * bits.row_bytes;
        kernel_.gather({n_.steps, panels_, raw.get() + b * stride, stride * n_.batch,
                        bits.row_bytes, gate_ + place, bits.kept + place,
                        &position[int64_t(worker) * panels_.count], membranes + kept[b * n_.steps],
                        membranes + kept[(b + 1) * n_.steps]});
      }
    });
  }

  void run_by_step(std::unique_ptr<Spikes> &spikes, const BitRows &bits, const LifForward &result) {
    float *dense = keep_ && !sparse_ ? allocate(result, dense_membranes(panels_, rows_)) : nullptr;
    std::vector<std::vector<float>> packed(n_.batch); // membranes of the neurons in slots
    LayerSlots slots(kernel_, n_, number_, threads_, bits, gate_);
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      run_sample(*spikes, bits, slots, static_cast<int>(b), dense, packed[b]);
    });
    Buffer<int64_t> kept(rows_ + 1);
    spikes = slots.select(true, result, kept.get());
    if (!keep_ || !sparse_)
      return;
    float *membranes = allocate(result, kept[rows_]);
    for (int b = 0; b < n_.batch; ++b)
      std::copy(packed[b].begin(), packed[b].end(), membranes + kept[int64_t(b) * n_.steps]);
  }

  void run_sample(const Spikes &input, const BitRows &bits, const LayerSlots &slots, int b,
                  float *dense, std::vector<float> &packed) {
    int64_t padded = int64_t(panels_.count) * panels_.width;
    std::vector<float> u(padded), i(padded), adaptation(padded);
    // The layer's spikes of a step, which overwrite those of the step before.
    Buffer<int32_t> own(layer_.slots);
    std::vector<int64_t> own_begin(n_.steps), own_end(n_.steps);
    std::vector<int32_t> ids;
    std::vector<PanelForward> panels(panels_.count);
    bool by_emission = n_.reset_on == LIF_RESET_ON_EMISSION;
    for (int p = 0; p < panels_.count; ++p) {
      PanelForward &a = panels[p] = packed_.panel(input, nullptr, p, b);
      write_bits(a, bits, p, b);
      if (by_emission)
        a.reset_bits = bits.emitted + (a.above - bits.above);
      else
        a.reset_bits = a.above;
      a.own_ids = own.get();
      a.own_begin = own_begin.data();
      a.own_end = own_end.data();
      a.u = &u[p * panels_.width];
      a.i = &i[p * panels_.width];
      a.adaptation = &adaptation[p * panels_.width];
      if (u_)
        write_dense(a, u_, p, b);
    }
    for (int t = 0; t < n_.steps; ++t) {
      int64_t row = int64_t(b) * n_.steps + t, place = row * bits.row_bytes;
      for (int p = 0; p < panels_.count; ++p) {
        PanelForward &a = panels[p];
        a.first = t;
        a.last = t + 1;
        if (dense)
          a.membranes = dense + (p * rows_ + row) * panels_.width;
        kernel_.general_forward(a);
      }
      if (is_truncated(layer_))
        slots.choose(b, t, u.data(), ids);
      own_end[t] = kernel_.count_bits(bits.emitted + place, bits.row_bytes);
      kernel_.list_bits(bits.emitted + place, 1, bits.row_bytes, 0, &own_begin[t], own.get(),
                        own.get() + layer_.slots);
      if (!keep_ || !sparse_)
        continue;
      for (int n = 0; n < layer_.neurons; ++n)
        if (bits.kept[place + n / 8] >> (n % 8) & 1)
          packed.push_back(u[n]);
    }
  }

  void write_bits(PanelForward &a, const BitRows &bits, int p, int b) const {
    int64_t place = int64_t(b) * n_.steps * bits.row_bytes + panels_.first(p) / 8;
    a.above = bits.above + place;
    a.gate = sparse_ ? gate_ + place : nullptr;
    a.row_bytes = bits.row_bytes;
  }

  void write_dense(PanelForward &a, float *dense, int p, int b) const {
    a.readout = dense + int64_t(b) * layer_.neurons + panels_.first(p);
    a.readout_stride = int64_t(n_.batch) * layer_.neurons;
    a.columns = panels_.columns(p);
  }

  float *allocate(const LifForward &result, int64_t floats) const {
    float *memory = result.allocate(result.context, number_, static_cast<size_t>(floats));
    if (!memory && floats)
      throw std::bad_alloc();
    return memory;
  }

  const Kernel &kernel_;
  const LifNetwork &n_;
  const int number_, threads_;
  const int64_t rows_;
  PackedLayer packed_;
  const LifLayer &layer_;
  const Panels &panels_;
  const bool sparse_;
  const bool keep_; // what the backward pass needs
  uint8_t *gate_ = nullptr;
  float *u_ = nullptr;
};

} // namespace

int64_t dense_membranes(const Panels &panels, int64_t rows) {
  return rows * panels.count * panels.width;
}

void run_forward(const Kernel &kernel, const LifNetwork &n, const LifForward &result) {
  int threads = n.threads ? n.threads : default_threads();
  std::unique_ptr<Spikes> spikes = input_spikes(n, threads, n.counts);
  for (int number = 0; number < n.layers; ++number) {
    enter_layer(number);
    Layer(kernel, n, number, threads).run(spikes, result);
  }
  enter_layer(n.layers);
  if (n.leaky_readout)
    Layer(kernel, n, n.layers, threads).read_out(*spikes, result.membrane);
}

} // namespace lif
