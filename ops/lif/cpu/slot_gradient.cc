#include "slot_gradient.h"

#include <algorithm>

#include "pool.h"

namespace lif {
namespace {

// Parts that a sampled product is summed in, whatever the number of threads.
constexpr int PRODUCT_PARTS = 8;

// Tasks of one of the last parts, where each part before them is one task.
constexpr int PIECES = 4;

// Memory for the sums of parts: more samples than fit are multiplied one run after another.
constexpr int64_t OTHER_BYTES = 24 << 20;

// From slot order, spikes and then the others, to ascending ids. product: of the sample.
void start_products(const LifNetwork &n, const LifLayer &layer, const BitRows &bits,
                    const Spikes &kept, int b, const float *direct, float *product) {
  int64_t first = kept.start[int64_t(b) * n.steps];
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
      product[start - first + k] = slots[spikes(k) ? spiking++ : others++];
  }
}

// What a product is made of.
struct Operands {
  const LifLayer &layer;
  const BitRows &bits;
  const Spikes &kept;
  const LayerGradient &next;
  const float *weights, *direct, *membranes;
};

// The products of samples `begin` to `end`, as a smaller batch of their own.
void multiply_samples(const Kernel &kernel, const LifNetwork &n, int threads, const Operands &o,
                      int parts, int begin, int end, float *product) {
  const Panels &panels = o.next.panels;
  int batch = end - begin;
  int64_t row = int64_t(begin) * n.steps, offset = o.kept.start[row];
  int64_t rows = int64_t(batch) * n.steps, length = o.kept.start[row + rows] - offset;
  Buffer<int64_t> start(rows + 1);
  for (int64_t r = 0; r <= rows; ++r)
    start[r] = o.kept.start[row + r] - offset;
  SampledProduct all{};
  all.steps = n.steps;
  all.delay = n.delay;
  all.storage = n.weights;
  all.neurons = o.layer.neurons;
  all.start = start.get();
  all.ids = o.kept.ids + offset;
  all.threshold = o.layer.threshold;
  all.slope = n.surrogate.slope;
  // Each part sums some panels of the next layer, one after the other from the worker's cache.
  Buffer<float> others((parts - 1) * length);
  int groups = (4 * threads + parts - 1) / parts;
  // So many parts are a task each. The last ones come in pieces, so that no thread waits long for
  // another, unless more than one panel would be packed again for that.
  int whole = groups == 1 && parts == panels.count ? std::max(0, parts - threads) : 0;
  if (whole)
    groups = PIECES;
  int samples = std::max(1, (batch + groups - 1) / groups);
  groups = (batch + samples - 1) / samples;
  WorkerPanel packed(o.weights ? threads : 0, kernel.pack, o.weights, o.layer.neurons,
                     panels.neurons, panels, o.layer.neurons * row_words(panels, n.weights),
                     n.weights);
  parallel_for(threads, whole + int64_t(parts - whole) * groups, [&](int64_t task, int worker) {
    int64_t piece = task - whole;
    int part = static_cast<int>(piece < 0 ? task : whole + piece / groups);
    SampledProduct a = all;
    a.first = piece < 0 ? 0 : static_cast<int>(piece % groups) * samples;
    a.last = piece < 0 ? batch : std::min(a.first + samples, batch);
    a.product = part ? others.get() + (part - 1) * length : product + offset;
    auto place = [&](int b) { return a.product + start[int64_t(b) * n.steps]; };
    bool starts = o.direct && !part;
    if (starts) {
      for (int b = a.first; b < a.last; ++b)
        start_products(n, o.layer, o.bits, o.kept, begin + b, o.direct, place(b));
    } else if (!o.weights) {
      std::fill(place(a.first), place(a.last), 0.0f);
    }
    int first = part * panels.count / parts;
    int last = o.weights ? (part + 1) * panels.count / parts : 0;
    for (int p = first; p < last; ++p) {
      a.writes = p == first && !starts;
      a.next = {panels, o.next.grad_current + (p * o.next.rows + row) * panels.width, rows};
      a.next.panels.count = 1;
      a.weights = packed.get(worker, p);
      kernel.sampled_product(a);
    }
  });
  parallel_for(threads, batch, [&](int64_t b, int) {
    float *sum = product + offset;
    for (int part = 1; part < parts; ++part) {
      const float *other = others.get() + (part - 1) * length;
      for (int64_t i = start[b * n.steps]; i < start[(b + 1) * n.steps]; ++i)
        sum[i] += other[i];
    }
    SampledProduct scaled = all; // no panel: only the surrogate
    scaled.next.panels.vectors = panels.vectors;
    scaled.first = static_cast<int>(b);
    scaled.last = scaled.first + 1;
    scaled.membranes = o.membranes ? o.membranes + offset : nullptr;
    scaled.product = sum;
    kernel.sampled_product(scaled);
  });
}

} // namespace

std::unique_ptr<Buffer<float>> slot_gradient(const Kernel &kernel, const LifNetwork &n, int threads,
                                             const LifLayer &layer, const BitRows &bits,
                                             const Spikes &kept, const LayerGradient &next,
                                             const float *weights, const float *direct,
                                             const float *membranes) {
  // An expanding load reads a whole vector, so that the last one may end behind its place.
  std::unique_ptr<Buffer<float>> product(new Buffer<float>(kept.start[next.rows] + kernel.lanes));
  Operands operands{layer, bits, kept, next, weights, direct, membranes};
  int parts = weights ? std::min(PRODUCT_PARTS, next.panels.count) : 1;
  int64_t most = OTHER_BYTES / 4 / std::max(1, parts - 1);
  auto slots_before = [&](int b) { return kept.start[int64_t(b) * n.steps]; };
  for (int begin = 0, end = 0; begin < n.batch; begin = end) {
    for (end = begin + 1; end < n.batch && slots_before(end + 1) - slots_before(begin) <= most;)
      ++end;
    multiply_samples(kernel, n, threads, operands, parts, begin, end, product->get());
  }
  return product;
}

} // namespace lif
