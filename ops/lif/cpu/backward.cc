// The backward pass: from the readout to the first layer, each over the whole sequence. Every sum
// has one order, by sample, then step, whoever computes it.
#include "layout.h"
#include "phases.h"
#include "pool.h"
#include "sequence.h"

#include <algorithm>
#include <cstring>

namespace lif {
namespace {

// Bytes of dL/dI that one group of rows takes in a panel: they and the sums share an L2 cache.
constexpr int64_t GROUP_BYTES = 256 << 10;

// Spikes of all rows as lists, and where they start if the lists are laid end to end.
struct Spikes {
  explicit Spikes(int64_t rows) : begin(rows), end(rows), start(rows + 1) {}

  void compute_start(int64_t rows) {
    start[0] = 0;
    for (int64_t row = 0; row < rows; ++row)
      start[row + 1] = start[row] + end[row] - begin[row];
  }

  const int32_t *ids = nullptr;
  std::unique_ptr<Buffer<int32_t>> storage;
  Buffer<int64_t> begin, end, start;
};

// By channel and group of rows: in which rows of the group the channel's spikes arrive.
struct Arrivals {
  int channels;
  int groups;
  int64_t group_rows;
  std::unique_ptr<Buffer<int64_t>> start; // [groups][channels + 1]
  std::unique_ptr<Buffer<uint32_t>> rows;
};

class Backward {
public:
  Backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient)
      : kernel_(kernel), n_(n), gradient_(gradient),
        threads_(n.threads ? n.threads : default_threads()), rows_(int64_t(n.batch) * n.steps) {}

  void run() {
    enter_layer(n_.layers);
    leave_readout();
    for (int number = n_.layers - 1; number >= 0; --number) {
      BitRows bits(n_.layer[number], rows_, gradient_.record[number].bits);
      sum_weight_gradient(number + 1, *list(bits.emitted, bits.row_bytes), n_.delay);
      enter_layer(number);
      pass_layer(number, bits);
    }
    Spikes input(rows_);
    input.ids = static_cast<const int32_t *>(n_.ids);
    for (int b = 0; b < n_.batch; ++b)
      for (int t = 0; t < n_.steps; ++t) {
        int64_t place = static_cast<int64_t>(t) * n_.batch + b, row = int64_t(b) * n_.steps + t;
        input.begin[row] = place * n_.input_slots;
        input.end[row] = place * n_.input_slots + n_.counts[place];
      }
    input.compute_start(rows_);
    sum_weight_gradient(0, input, 0);
  }

private:
  void leave_readout() {
    const LifLayer &readout = n_.layer[n_.layers];
    panels_ = cut(kernel_, readout.neurons);
    LayerConstants constants(readout, panels_);
    grad_current_.reset(new Buffer<float>(dense_membranes(panels_, rows_)));
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

  // From dL/dI of the layer after it to dL/dI of layer `number`.
  void pass_layer(int number, const BitRows &bits) {
    const LifLayer &layer = n_.layer[number];
    Panels panels = cut(kernel_, layer.neurons);
    LayerConstants constants(layer, panels);
    const LifLayer &after = n_.layer[number + 1];
    bool sparse = is_sparse(layer);
    auto weights = pack_weights(kernel_, threads_, after.weights, layer.neurons, after.neurons,
                                sparse ? panels_ : panels, !sparse);
    NextLayer next{panels_, grad_current_->get(), rows_};
    std::unique_ptr<Spikes> kept;
    std::unique_ptr<Buffer<float>> product;
    if (sparse) {
      kept = list(bits.kept, bits.row_bytes);
      product = multiply(number, bits, *kept, next, weights->get());
    }
    std::unique_ptr<Buffer<float>> grad_current(new Buffer<float>(dense_membranes(panels, rows_)));
    const float *grad_spikes = gradient_.grad_spikes ? gradient_.grad_spikes[number] : nullptr;
    parallel_for(threads_, int64_t(panels.count) * n_.batch, [&](int64_t task, int) {
      int p = static_cast<int>(task / n_.batch), b = static_cast<int>(task % n_.batch);
      int64_t row = int64_t(b) * n_.steps, place = row * bits.row_bytes;
      PanelBackward a{};
      a.steps = n_.steps;
      a.vectors = panels.vectors;
      a.columns = panels.columns(p);
      a.constants = constants.of(p);
      a.term = n_.reset_gradient == LIF_RESET_GRADIENT_TERM;
      a.above = bits.above + place;
      a.row_bytes = bits.row_bytes;
      a.first_neuron = panels.first(p);
      a.grad_current = grad_current->get() + task * n_.steps * panels.width;
      if (sparse) {
        a.kept = bits.kept + place;
        a.start = &kept->start[row];
        a.product = product->get();
        kernel_.sparse_backward(a);
        return;
      }
      a.delay = n_.delay;
      a.next = next;
      a.first_row = row;
      a.weights = weights->get() + int64_t(p) * after.neurons * panels.width;
      a.membranes = gradient_.record[number].membranes + task * n_.steps * panels.width;
      a.grad_spikes = grad_spikes ? grad_spikes + int64_t(b) * layer.slots : nullptr;
      a.grad_spikes_stride = int64_t(n_.batch) * layer.slots;
      a.slope = n_.surrogate.slope;
      kernel_.dense_backward(a);
    });
    grad_current_ = std::move(grad_current);
    panels_ = panels;
  }

  // phi dL/ds of the neurons in slots.
  std::unique_ptr<Buffer<float>> multiply(int number, const BitRows &bits, const Spikes &kept,
                                          const NextLayer &next, const float *weights) {
    const LifLayer &layer = n_.layer[number];
    // An expanding load reads a whole vector, so that the last one may end behind its place.
    std::unique_ptr<Buffer<float>> product(new Buffer<float>(kept.start[rows_] + kernel_.lanes));
    const float *direct = gradient_.grad_spikes ? gradient_.grad_spikes[number] : nullptr;
    int samples = std::max(1, std::min(8, n_.batch / (2 * threads_)));
    parallel_for(threads_, (n_.batch + samples - 1) / samples, [&](int64_t task, int) {
      SampledProduct a;
      a.steps = n_.steps;
      a.delay = n_.delay;
      a.first = static_cast<int>(task) * samples;
      a.last = std::min(a.first + samples, n_.batch);
      a.next = next;
      a.weights = weights;
      a.neurons = layer.neurons;
      a.start = kept.start.get();
      a.ids = kept.ids;
      a.membranes = gradient_.record[number].membranes;
      a.threshold = layer.threshold;
      a.slope = n_.surrogate.slope;
      a.product = product->get();
      for (int b = a.first; b < a.last; ++b)
        start_products(layer, bits, kept, b, direct, a.product);
      kernel_.sampled_product(a);
    });
    return product;
  }

  // From slot order, spikes and then the others, to ascending ids.
  void start_products(const LifLayer &layer, const BitRows &bits, const Spikes &kept, int b,
                      const float *direct, float *product) const {
    for (int t = 0; t < n_.steps; ++t) {
      int64_t row = int64_t(b) * n_.steps + t, start = kept.start[row];
      int64_t count = kept.start[row + 1] - start;
      if (!direct) {
        memset(product + start, 0, count * sizeof(float));
        continue;
      }
      const uint8_t *emitted = bits.emitted + row * bits.row_bytes;
      const float *slots = direct + (int64_t(t) * n_.batch + b) * layer.slots;
      auto spikes = [&](int64_t k) {
        int32_t id = kept.ids[start + k];
        return emitted[id / 8] >> (id % 8) & 1;
      };
      int64_t others = 0;
      for (int64_t k = 0; k < count; ++k)
        others += spikes(k);
      for (int64_t k = 0, spiking = 0; k < count; ++k)
        product[start + k] = slots[spikes(k) ? spiking++ : others++];
    }
  }

  std::unique_ptr<Spikes> list(const uint8_t *bits, int64_t row_bytes) {
    std::unique_ptr<Spikes> spikes(new Spikes(rows_));
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      int64_t row = b * n_.steps;
      kernel_.count_bits(bits + row * row_bytes, n_.steps, row_bytes, &spikes->begin[row]);
    });
    int64_t total = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      int64_t count = spikes->begin[row];
      spikes->begin[row] = spikes->start[row] = total;
      spikes->end[row] = total += count;
    }
    spikes->start[rows_] = total;
    spikes->storage.reset(new Buffer<int32_t>(total));
    spikes->ids = spikes->storage->get();
    parallel_for(threads_, n_.batch, [&](int64_t b, int) {
      int64_t row = b * n_.steps;
      kernel_.list_bits(bits + row * row_bytes, n_.steps, row_bytes,
                        spikes->storage->get() + spikes->start[row]);
    });
    return spikes;
  }

  // dL/dW of layer `number`, whose dL/dI is grad_current_, from the spikes that enter it.
  void sum_weight_gradient(int number, const Spikes &spikes, int delay) {
    int channels = number ? n_.layer[number - 1].neurons : n_.inputs;
    int neurons = n_.layer[number].neurons;
    if (!gradient_.gradient[number].weights)
      return;
    Arrivals arrivals = sort_by_channel(spikes, channels, delay);
    // Channels share nothing, so they may be cut as there are threads to busy.
    int ranges = std::max((channels + 255) / 256, (4 * threads_ - 1) / panels_.count + 1);
    int range = std::max(1, (channels + ranges - 1) / ranges);
    ranges = (channels + range - 1) / range;
    Buffer<float> sums(int64_t(threads_) * range * panels_.width);
    parallel_for(threads_, int64_t(panels_.count) * ranges, [&](int64_t task, int worker) {
      int p = static_cast<int>(task / ranges);
      WeightGradient a;
      a.vectors = panels_.vectors;
      a.columns = panels_.columns(p);
      a.first = static_cast<int>(task % ranges) * range;
      a.last = std::min(a.first + range, channels);
      a.inputs = channels;
      a.groups = arrivals.groups;
      a.group_rows = arrivals.group_rows;
      a.start = arrivals.start->get();
      a.rows = arrivals.rows->get();
      a.grad_current = grad_current_->get() + p * rows_ * panels_.width;
      a.sum = sums.get() + int64_t(worker) * range * panels_.width;
      a.grad = gradient_.gradient[number].weights + int64_t(a.first) * neurons + panels_.first(p);
      a.grad_stride = neurons;
      kernel_.weight_gradient(a);
    });
  }

  // A counting sort of each group's spikes. Reading dL/dI channel by channel keeps the sum in
  // registers; adding each spike's row where it falls would write it back every time.
  Arrivals sort_by_channel(const Spikes &spikes, int channels, int delay) {
    Arrivals a;
    a.channels = channels;
    a.group_rows = std::max<int64_t>(1, GROUP_BYTES / (4 * panels_.width));
    a.groups = static_cast<int>((rows_ + a.group_rows - 1) / a.group_rows);
    a.start.reset(new Buffer<int64_t>(int64_t(a.groups) * (channels + 1)));
    a.rows.reset(new Buffer<uint32_t>(spikes.start[rows_]));
    Buffer<int64_t> positions(int64_t(threads_) * channels);
    parallel_for(threads_, a.groups, [&](int64_t g, int worker) {
      int64_t first = g * a.group_rows, last = std::min(first + a.group_rows, rows_);
      int64_t *start = a.start->get() + g * (channels + 1);
      int64_t *position = positions.get() + int64_t(worker) * channels;
      std::fill(start, start + channels + 1, 0);
      auto arrives = [&](int64_t row) { return row % n_.steps + delay < n_.steps; };
      for (int64_t row = first; row < last; ++row)
        if (arrives(row))
          for (int64_t k = spikes.begin[row]; k < spikes.end[row]; ++k)
            ++start[spikes.ids[k] + 1];
      start[0] = spikes.start[first];
      for (int i = 0; i < channels; ++i) {
        start[i + 1] += start[i];
        position[i] = start[i];
      }
      for (int64_t row = first; row < last; ++row)
        if (arrives(row))
          for (int64_t k = spikes.begin[row]; k < spikes.end[row]; ++k)
            (*a.rows)[position[spikes.ids[k]]++] = static_cast<uint32_t>(row + delay - first);
    });
    return a;
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
