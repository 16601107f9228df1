#include "slot_gradient.h"

#include <algorithm>
#include <stdexcept>

#include "support/pool.h"

namespace lif {
namespace {

// Parts that a sampled product is summed in, whatever the kernel and the number of threads.
constexpr int PRODUCT_PARTS = 8;

// Memory for the sums of parts: more samples than fit are multiplied one run after another.
constexpr int64_t OTHER_BYTES = 24 << 20;

// Reorders direct gradients from slot order, spikes first, to ascending ids. product: of the
// sample.
void start_products(const LifNetwork &n, int slots_of_row, const BitRows &bits, const Spikes &kept,
                    int b, const float *direct, float *product) {
  int64_t first = kept.start[int64_t(b) * n.steps];
  for (int t = 0; t < n.steps; ++t) {
    int64_t row = int64_t(b) * n.steps + t, start = kept.start[row];
    int64_t count = kept.start[row + 1] - start;
    const uint8_t *emitted = bits.emitted + row * bits.row_bytes;
    const float *slots = direct + (int64_t(t) * n.batch + b) * slots_of_row;
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

// The operands of a product.
struct Operands {
  const LifLayer &layer;
  const BitRows &bits;
  const Spikes &kept;
  const GradCurrent &next;
  const LifLayer *after;
  const float *weights, *direct, *membranes;
  int direct_slots;
};

// Those of a sample times the surrogate, if there are membranes.
void apply_surrogate(const BackwardCall &call, const Operands &o, int b, float *product) {
  SampledProduct a{}; // no panel
  a.next.panels.vectors = 1;
  a.steps = call.n.steps;
  a.first = b;
  a.last = b + 1;
  a.start = o.kept.start.get();
  a.ids = o.kept.ids;
  a.membranes = o.membranes;
  a.threshold = o.layer.threshold;
  a.slope = call.n.surrogate.slope;
  a.product = product;
  call.kernel.sampled_product(a);
}

// The products of samples `begin` to `end`, as a smaller batch of their own.
void multiply_samples(const BackwardCall &call, const Operands &o, int parts, int begin, int end,
                      float *product) {
  const LifNetwork &n = call.n;
  const Panels &panels = o.next.panels;
  int threads = call.threads, batch = end - begin;
  int64_t row = int64_t(begin) * n.steps, offset = o.kept.start[row];
  int64_t rows = int64_t(batch) * n.steps, length = o.kept.start[row + rows] - offset;
  Buffer<int64_t> start(rows + 1);
  for (int64_t r = 0; r <= rows; ++r)
    start[r] = o.kept.start[row + r] - offset;
  SampledProduct all{};
  all.steps = n.steps;
  all.delay = o.after ? o.after->delay : 0;
  all.storage = n.weights;
  all.neurons = o.layer.neurons;
  all.start = start.get();
  all.ids = o.kept.ids + offset;
  // Each part sums some chunks of the next layer, one after the other from the worker's cache.
  Buffer<float> others((parts - 1) * length);
  int groups = (4 * threads + parts - 1) / parts;
  int samples = std::max(1, (batch + groups - 1) / groups);
  groups = (batch + samples - 1) / samples;
  WorkerPanel packed(o.weights ? threads : 0, call.kernel.pack, o.weights, o.layer.neurons,
                     panels.neurons, panels, o.layer.neurons * row_words(panels, n.weights),
                     n.weights, panels.chunk);
  int chunks = panels.chunk ? panels.count / panels.chunk : 0;
  parallel_for(threads, int64_t(parts) * groups, [&](int64_t task, int worker) {
    int part = static_cast<int>(task / groups);
    SampledProduct a = all;
    a.first = static_cast<int>(task % groups) * samples;
    a.last = std::min(a.first + samples, batch);
    a.product = part ? others.get() + (part - 1) * length : product + offset;
    auto place = [&](int b) { return a.product + start[int64_t(b) * n.steps]; };
    bool starts = o.direct && !part;
    if (starts) {
      for (int b = a.first; b < a.last; ++b)
        start_products(n, o.direct_slots, o.bits, o.kept, begin + b, o.direct, place(b));
    } else if (!o.weights) {
      std::fill(place(a.first), place(a.last), 0.0f);
    }
    int first = part * chunks / parts, last = o.weights ? (part + 1) * chunks / parts : 0;
    for (int c = first; c < last; ++c) {
      int p = c * panels.chunk;
      a.writes = c == first && !starts;
      a.next = {panels, o.next.floats + (p * call.rows + row) * panels.width, call.rows};
      a.next.panels.count = panels.chunk;
      a.weights = packed.get(worker, p);
      call.kernel.sampled_product(a);
    }
  });
  parallel_for(threads, batch, [&](int64_t b, int) {
    float *sum = product + offset;
    for (int part = 1; part < parts; ++part) {
      const float *other = others.get() + (part - 1) * length;
      for (int64_t i = start[b * n.steps]; i < start[(b + 1) * n.steps]; ++i)
        sum[i] += other[i];
    }
    apply_surrogate(call, o, begin + static_cast<int>(b), product);
  });
}

} // namespace

std::unique_ptr<Buffer<float>> slot_gradient(const BackwardCall &call, const LifLayer &layer,
                                             const BitRows &bits, const Spikes &kept,
                                             const GradCurrent &next, const LifLayer *after,
                                             const float *direct, int direct_slots,
                                             const float *membranes) {
  for (int64_t row = 0; direct && row < call.rows; ++row)
    if (kept.start[row + 1] - kept.start[row] > direct_slots)
      throw std::invalid_argument("a gradient by spikes has fewer slots than are filled");
  // An expanding load reads a whole vector, so that the last one may end behind its place.
  std::unique_ptr<Buffer<float>> product(
      new Buffer<float>(kept.start[call.rows] + call.kernel.lanes));
  const float *weights = after ? after->weights : nullptr;
  Operands operands{layer, bits, kept, next, after, weights, direct, membranes, direct_slots};
  int parts = weights ? std::min(PRODUCT_PARTS, next.panels.count / next.panels.chunk) : 1;
  int64_t most = OTHER_BYTES / 4 / std::max(1, parts - 1);
  auto slots_before = [&](int b) { return kept.start[int64_t(b) * call.n.steps]; };
  for (int begin = 0, end = 0; begin < call.n.batch; begin = end) {
    for (end = begin + 1;
         end < call.n.batch && slots_before(end + 1) - slots_before(begin) <= most;)
      ++end;
    multiply_samples(call, operands, parts, begin, end, product->get());
  }
  return product;
}

} // namespace lif
