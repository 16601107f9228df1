// The forward pass: layer after layer, each over the whole sequence. That order is open to a
// network with any delay. Within a layer a panel runs over all steps at once, so that its weights
// stay in cache for all samples, unless a step needs to know all neurons of the step before.
#include "../../philox.h"
#include "packed_layer.h"
#include "phases.h"
#include "pool.h"
#include "sequence.h"
#include "slot_choice.h"

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
    auto run = layer_.synapse_decay ? kernel_.general_forward : kernel_.leaky_forward;
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
  // Whether a step depends on other neurons of this layer.
  static bool needs_all_neurons(const LifNetwork &n, int number) {
    if (number == n.layers)
      return false; // a readout
    const LifLayer &layer = n.layer[number];
    bool by_emission = n.reset_on == LIF_RESET_ON_EMISSION && n.reset != LIF_RESET_NONE;
    return layer.recurrent ||
           (is_truncated(layer) && (by_emission || layer.policy == LIF_POLICY_TOP));
  }

  void run_by_panel(std::unique_ptr<Spikes> &spikes, const BitRows &bits,
                    const LifForward &result) {
    bool plain = n_.reset == LIF_RESET_ZERO && !layer_.synapse_decay && !u_;
    auto run = plain ? kernel_.lif_forward : kernel_.general_forward;
    // A compressed store writes a whole vector, so that the last one may end behind its place.
    int64_t stride = int64_t(n_.steps) * panels_.width + (sparse_ ? kernel_.lanes : 0);
    Buffer<float> raw(keep_ && sparse_ ? stride * panels_.count * n_.batch : 0);
    float *membranes = nullptr;
    if (keep_)
      membranes = sparse_ ? raw.get() : ask(result, dense_membranes(panels_, rows_));
    packed_.for_panels(*spikes, [&](PanelForward &a, int p, int b) {
      write_bits(a, bits, p, b);
      a.reset_bits = a.above;
      a.membranes = membranes ? membranes + (int64_t(p) * n_.batch + b) * stride : nullptr;
      if (u_)
        write_dense(a, u_, p, b);
      run(a);
    });
    Buffer<int64_t> kept(rows_ + 1);
    spikes = select(bits, false, result, kept.get());
    if (!keep_ || !sparse_)
      return;
    membranes = ask(result, lay_end_to_end(kept.get()));
    Buffer<int64_t> position(int64_t(panels_.count) * threads_);
    parallel_for(threads_, n_.batch, [&](int64_t b, int worker) {
      int64_t place = b * n_.steps * bits.row_bytes;
      kernel_.gather({n_.steps, panels_, raw.get() + b * stride, stride * n_.batch, bits.row_bytes,
                      gate_ + place, bits.kept + place, &position[int64_t(worker) * panels_.count],
                      membranes + kept[b * n_.steps], membranes + kept[(b + 1) * n_.steps]});
    });
  }

  void run_by_step(std::unique_ptr<Spikes> &spikes, const BitRows &bits, const LifForward &result) {
    float *dense = keep_ && !sparse_ ? ask(result, dense_membranes(panels_, rows_)) : nullptr;
    std::vector<std::vector<float>> packed(n_.batch); // membranes of the neurons in slots
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      run_sample(*spikes, bits, static_cast<int>(b), dense, packed[b]);
    });
    Buffer<int64_t> kept(rows_ + 1);
    spikes = select(bits, true, result, kept.get());
    if (!keep_ || !sparse_)
      return;
    float *membranes = ask(result, lay_end_to_end(kept.get()));
    for (int b = 0; b < n_.batch; ++b)
      std::copy(packed[b].begin(), packed[b].end(), membranes + kept[int64_t(b) * n_.steps]);
  }

  void run_sample(const Spikes &input, const BitRows &bits, int b, float *dense,
                  std::vector<float> &packed) {
    int64_t padded = int64_t(panels_.count) * panels_.width;
    std::vector<float> u(padded), i(padded);
    Spikes own(n_.steps);
    own.storage.reset(new Buffer<int32_t>(layer_.slots));
    own.ids = own.storage->get();
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
      a.own_ids = own.ids;
      a.own_begin = own.begin.get();
      a.own_end = own.end.get();
      a.u = &u[p * panels_.width];
      a.i = &i[p * panels_.width];
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
        choose(bits, b, t, u.data(), ids);
      own.begin[t] = 0;
      kernel_.count_bits(bits.emitted + place, 1, bits.row_bytes, &own.end[t]);
      kernel_.list_bits(bits.emitted + place, 1, bits.row_bytes, own.storage->get(),
                        own.storage->get() + layer_.slots);
      if (!keep_ || !sparse_)
        continue;
      for (int n = 0; n < layer_.neurons; ++n)
        if (bits.kept[place + n / 8] >> (n % 8) & 1)
          packed.push_back(u[n]);
    }
  }

  void choose(const BitRows &bits, int b, int t, const float *u, std::vector<int32_t> &ids) const {
    int64_t place = (int64_t(b) * n_.steps + t) * bits.row_bytes;
    SlotChoice c{};
    c.slots = layer_.slots;
    c.policy = layer_.policy;
    if (c.policy == LIF_POLICY_CYCLIC)
      c.offset = ipulse::cyclic_offset(n_.seed, number_, t, b, layer_.neurons);
    c.u = u;
    c.row_bytes = bits.row_bytes;
    c.above = bits.above + place;
    c.gate = gate_ + place;
    c.emitted = bits.emitted + place;
    c.kept = bits.kept + place;
    choose_slots(c, ids);
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

  float *ask(const LifForward &result, int64_t floats) const {
    float *memory = result.allocate(result.context, number_, static_cast<size_t>(floats));
    if (!memory && floats)
      throw std::bad_alloc();
    return memory;
  }

  // From the counts of rows to where each begins; returns where the last ends.
  int64_t lay_end_to_end(int64_t *counts) const {
    int64_t total = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      int64_t count = counts[row];
      counts[row] = total;
      total += count;
    }
    return counts[rows_] = total;
  }

  // chosen: step by step, while the layer ran.
  std::unique_ptr<Spikes> select(const BitRows &bits, bool chosen, const LifForward &result,
                                 int64_t *kept) {
    std::unique_ptr<Spikes> spikes(new Spikes(rows_));
    Buffer<int64_t> above(rows_), first(n_.batch + 1);
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      int64_t row = b * n_.steps;
      kernel_.count_bits(bits.above + row * bits.row_bytes, n_.steps, bits.row_bytes, &above[row]);
    });
    first[0] = 0;
    for (int64_t b = 0; b < n_.batch; ++b) {
      first[b + 1] = first[b];
      for (int64_t row = b * n_.steps; row < (b + 1) * n_.steps; ++row)
        first[b + 1] += std::min<int64_t>(above[row], layer_.slots);
    }
    spikes->storage.reset(new Buffer<int32_t>(first[n_.batch]));
    spikes->ids = spikes->storage->get();
    bool choosing = !chosen && is_truncated(layer_) && layer_.policy != LIF_POLICY_INDEX;
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      std::vector<int32_t> ids;
      for (int t = 0; choosing && t < n_.steps; ++t)
        choose(bits, static_cast<int>(b), t, nullptr, ids);
      int64_t row = b * n_.steps, place = row * bits.row_bytes;
      SlotSelection a;
      a.steps = n_.steps;
      a.neurons = layer_.neurons;
      a.slots = layer_.slots;
      a.sparse = sparse_;
      a.chosen = chosen || choosing;
      a.row_bytes = bits.row_bytes;
      a.above = bits.above + place;
      a.gate = gate_ ? gate_ + place : nullptr;
      a.kept = bits.kept ? bits.kept + place : nullptr;
      a.emitted = bits.emitted + place;
      a.ids = spikes->storage->get() + first[b];
      a.ids_end = spikes->storage->get() + first[b + 1];
      a.first = first[b];
      a.begin = &spikes->begin[row];
      a.end = &spikes->end[row];
      a.kept_counts = kept + row;
      a.counts = result.counts[number_] + 2 * b;
      a.dropped = result.dropped[number_] + b;
      a.batch = n_.batch;
      kernel_.select(a);
    });
    return spikes;
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
  std::unique_ptr<Spikes> spikes = input_spikes(n, n.counts);
  for (int number = 0; number < n.layers; ++number) {
    enter_layer(number);
    Layer(kernel, n, number, threads).run(spikes, result);
  }
  enter_layer(n.layers);
  if (n.leaky_readout)
    Layer(kernel, n, n.layers, threads).read_out(*spikes, result.membrane);
}

} // namespace lif
