// The forward pass: layer after layer, each over the whole sequence. That order is open to a feed-
// forward network with any delay, and lets a panel's weights stay in cache for all samples.
#include "layout.h"
#include "phases.h"
#include "pool.h"
#include "sequence.h"

#include <algorithm>
#include <cstring>

namespace lif {
namespace {

// Spikes of all rows: those of row r are ids[begin[r]] up to ids[end[r]].
struct Spikes {
  explicit Spikes(int64_t rows) : begin(rows), end(rows) {}
  const int32_t *ids = nullptr;
  std::unique_ptr<Buffer<int32_t>> storage; // of ids, unless they are the caller's
  Buffer<int64_t> begin, end;
};

void read_input(const LifNetwork &n, Spikes &spikes) {
  spikes.ids = static_cast<const int32_t *>(n.ids);
  for (int b = 0; b < n.batch; ++b)
    for (int t = 0; t < n.steps; ++t) {
      int64_t place = static_cast<int64_t>(t) * n.batch + b, row = int64_t(b) * n.steps + t;
      spikes.begin[row] = place * n.input_slots;
      spikes.end[row] = place * n.input_slots + n.counts[place];
    }
}

class Layer {
public:
  Layer(const Kernel &kernel, const LifNetwork &n, int number, int threads)
      : kernel_(kernel), n_(n), layer_(n.layer[number]), threads_(threads),
        rows_(static_cast<int64_t>(n.batch) * n.steps), panels_(cut(kernel, layer_.neurons)),
        constants_(layer_, panels_),
        weights_(pack_weights(kernel, threads, layer_.weights,
                              number ? n.layer[number - 1].neurons : n.inputs, layer_.neurons,
                              panels_, false)),
        inputs_(number ? n.layer[number - 1].neurons : n.inputs), delay_(number ? n.delay : 0),
        keep_(n.store == LIF_STORE_MEMBRANES) {}

  void read_out(const Spikes &input, float *membrane) {
    parallel_for(threads_, int64_t(panels_.count) * n_.batch, [&](int64_t task, int) {
      int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
      PanelForward a = panel(input, p, b);
      a.readout = membrane + int64_t(b) * layer_.neurons + panels_.first(p);
      a.readout_stride = int64_t(n_.batch) * layer_.neurons;
      a.columns = panels_.columns(p);
      kernel_.leaky_forward(a);
    });
  }

  // Runs the layer on `spikes` and replaces them by the layer's own.
  void run(std::unique_ptr<Spikes> &spikes, int number, const LifForward &result) {
    BitRows bits(layer_, rows_, result.bits[number]);
    bool sparse = is_sparse(layer_);
    // The neurons above the second threshold, before the capacity is looked at.
    Buffer<uint8_t> all_gate(is_truncated(layer_) ? rows_ * bits.row_bytes : 0);
    uint8_t *gate = is_truncated(layer_) ? all_gate.get() : bits.kept;
    if (rows_ && int64_t(panels_.count) * panels_.width < 8 * bits.row_bytes) {
      // The panels leave the last bits of a row alone.
      memset(bits.above, 0, rows_ * bits.row_bytes);
      if (sparse)
        memset(gate, 0, rows_ * bits.row_bytes);
    }
    // A compressed store writes a whole vector, so that the last one may end behind its place.
    int64_t stride = int64_t(n_.steps) * panels_.width + (sparse ? kernel_.lanes : 0);
    Buffer<float> raw(keep_ && sparse ? stride * panels_.count * n_.batch : 0);
    float *membranes = nullptr;
    if (keep_)
      membranes = sparse ? raw.get() : ask(result, number, dense_membranes(panels_, rows_));

    parallel_for(threads_, int64_t(panels_.count) * n_.batch, [&](int64_t task, int) {
      int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
      PanelForward a = panel(*spikes, p, b);
      int64_t place = int64_t(b) * n_.steps * bits.row_bytes + panels_.first(p) / 8;
      a.above = bits.above + place;
      a.gate = sparse ? gate + place : nullptr;
      a.row_bytes = bits.row_bytes;
      a.membranes = membranes ? membranes + task * stride : nullptr;
      kernel_.lif_forward(a);
    });
    Buffer<int64_t> kept(rows_ + 1);
    spikes = choose_slots(bits, gate, result.counts[number], result.dropped[number], kept.get());
    if (!keep_ || !sparse)
      return;
    int64_t total = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      int64_t count = kept[row];
      kept[row] = total;
      total += count;
    }
    kept[rows_] = total;
    membranes = ask(result, number, total);
    Buffer<int64_t> position(int64_t(panels_.count) * threads_);
    parallel_for(threads_, n_.batch, [&](int64_t b, int worker) {
      int64_t place = b * n_.steps * bits.row_bytes;
      kernel_.gather({n_.steps, panels_, raw.get() + b * stride, stride * n_.batch, bits.row_bytes,
                      gate + place, bits.kept + place, &position[int64_t(worker) * panels_.count],
                      membranes + kept[b * n_.steps]});
    });
  }

private:
  PanelForward panel(const Spikes &input, int p, int b) const {
    PanelForward a{};
    a.steps = n_.steps;
    a.delay = delay_;
    a.vectors = panels_.vectors;
    a.weights = weights_->get() + int64_t(p) * inputs_ * panels_.width;
    a.ids = input.ids;
    a.begin = &input.begin[int64_t(b) * n_.steps];
    a.end = &input.end[int64_t(b) * n_.steps];
    a.constants = constants_.of(p);
    return a;
  }

  float *ask(const LifForward &result, int number, int64_t floats) const {
    float *memory = result.allocate(result.context, number, static_cast<size_t>(floats));
    if (!memory && floats)
      throw std::bad_alloc();
    return memory;
  }

  std::unique_ptr<Spikes> choose_slots(const BitRows &bits, const uint8_t *gate, float *counts,
                                       float *dropped, int64_t *kept) {
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
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      int64_t row = b * n_.steps, place = row * bits.row_bytes;
      SlotSelection a;
      a.steps = n_.steps;
      a.neurons = layer_.neurons;
      a.slots = layer_.slots;
      a.sparse = is_sparse(layer_);
      a.row_bytes = bits.row_bytes;
      a.above = bits.above + place;
      a.gate = gate ? gate + place : nullptr;
      a.kept = bits.kept ? bits.kept + place : nullptr;
      a.emitted = bits.emitted + place;
      a.ids = spikes->storage->get() + first[b];
      a.first = first[b];
      a.begin = &spikes->begin[row];
      a.end = &spikes->end[row];
      a.kept_counts = kept + row;
      a.counts = counts + 2 * b;
      a.dropped = dropped + b;
      a.batch = n_.batch;
      kernel_.select(a);
    });
    return spikes;
  }

  const Kernel &kernel_;
  const LifNetwork &n_;
  const LifLayer &layer_;
  int threads_;
  int64_t rows_;
  Panels panels_;
  LayerConstants constants_;
  std::unique_ptr<Buffer<float>> weights_;
  int inputs_, delay_;
  bool keep_; // what the backward pass needs
};

} // namespace

int64_t dense_membranes(const Panels &panels, int64_t rows) {
  return rows * panels.count * panels.width;
}

void run_forward(const Kernel &kernel, const LifNetwork &n, const LifForward &result) {
  int threads = n.threads ? n.threads : default_threads();
  std::unique_ptr<Spikes> spikes(new Spikes(int64_t(n.batch) * n.steps));
  read_input(n, *spikes);
  for (int number = 0; number < n.layers; ++number) {
    enter_layer(number);
    Layer(kernel, n, number, threads).run(spikes, number, result);
  }
  enter_layer(n.layers);
  Layer(kernel, n, n.layers, threads).read_out(*spikes, result.membrane);
}

} // namespace lif
