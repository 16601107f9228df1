#include "slot_gradient.h"

#include <algorithm>

#include "pool.h"

namespace lif {
namespace {

// Parts that a sampled product is summed in, whatever the number of threads.
constexpr int PRODUCT_PARTS = 8;

// From slot order, spikes and then the others, to ascending ids.
void start_products(const LifNetwork &n, const LifLayer &layer, const BitRows &bits,
                    const Spikes &kept, int b, const float *direct, float *product) {
  for (int t = 0; t < n.steps; ++t) {
    int64_t row = int64_t(b) * n.steps + t, start = kept.start[row];
    int64_t count = kept.start[row + 1] - start;
    const uint8_t *emitted = bits.emitted + row * bits.row_bytes;
    const float *slots = direct + (int64_t(t) * n.batch + b) * layer.slots;
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

} // namespace

std::unique_ptr<Buffer<float>> slot_gradient(const Kernel &kernel, const LifNetwork &n, int threads,
                                             const LifLayer &layer, const BitRows &bits,
                                             const Spikes &kept, const LayerGradient &next,
                                             const float *weights, const float *direct,
                                             const float *membranes) {
  // An expanding load reads a whole vector, so that the last one may end behind its place.
  std::unique_ptr<Buffer<float>> product(new Buffer<float>(kept.start[next.rows] + kernel.lanes));
  // Each part sums some panels of the next layer, one after the other from the worker's cache.
  const Panels &panels = next.panels;
  int parts = weights ? std::min(PRODUCT_PARTS, panels.count) : 1;
  int64_t length = kept.start[next.rows];
  Buffer<float> others((parts - 1) * length);
  int groups = (4 * threads + parts - 1) / parts;
  int samples = std::max(1, (n.batch + groups - 1) / groups);
  groups = (n.batch + samples - 1) / samples;
  WorkerPanel packed(weights ? threads : 0, kernel.pack, weights, layer.neurons, panels.neurons,
                     panels, int64_t(layer.neurons) * panels.width, n.weights);
  SampledProduct a{};
  a.steps = n.steps;
  a.delay = n.delay;
  a.neurons = layer.neurons;
  a.start = kept.start.get();
  a.ids = kept.ids;
  a.threshold = layer.threshold;
  a.slope = n.surrogate.slope;
  parallel_for(threads, int64_t(parts) * groups, [&](int64_t task, int worker) {
    int part = static_cast<int>(task / groups);
    SampledProduct one = a;
    one.first = static_cast<int>(task % groups) * samples;
    one.last = std::min(one.first + samples, n.batch);
    one.product = part ? others.get() + (part - 1) * length : product->get();
    if (direct && !part) {
      for (int b = one.first; b < one.last; ++b)
        start_products(n, layer, bits, kept, b, direct, one.product);
    } else {
      int64_t begin = kept.start[int64_t(one.first) * n.steps];
      int64_t behind = kept.start[int64_t(one.last) * n.steps];
      std::fill(one.product + begin, one.product + behind, 0.0f);
    }
    int end = weights ? (part + 1) * panels.count / parts : 0;
    for (int p = part * panels.count / parts; p < end; ++p) {
      one.next = {panels, next.grad_current + p * next.rows * panels.width, next.rows};
      one.next.panels.count = 1;
      one.weights = packed.get(worker, p);
      kernel.sampled_product(one);
    }
  });
  parallel_for(threads, n.batch, [&](int64_t b, int) {
    int64_t first = kept.start[b * n.steps], end = kept.start[(b + 1) * n.steps];
    float *sum = product->get();
    for (int part = 1; part < parts; ++part) {
      const float *other = others.get() + (part - 1) * length;
      for (int64_t i = first; i < end; ++i)
        sum[i] += other[i];
    }
    SampledProduct scaled = a; // no panel: only the surrogate
    scaled.next = next;
    scaled.next.panels.count = 0;
    scaled.first = static_cast<int>(b);
    scaled.last = scaled.first + 1;
    scaled.membranes = membranes;
    scaled.product = sum;
    kernel.sampled_product(scaled);
  });
  return product;
}

} // namespace lif
