#include "spikes.h"

#include "pool.h"

namespace lif {
namespace {

template <class Id>
void copy_ids(const LifNetwork &n, int threads, const Spikes &spikes, int32_t *to) {
  const Id *ids = static_cast<const Id *>(n.ids);
  parallel_for_runs(threads, n.batch, [&](int64_t first, int64_t last, int) {
    for (int64_t t = 0; t < n.steps; ++t)
      for (int64_t b = first; b < last; ++b) {
        const Id *from = ids + (t * n.batch + b) * n.input_slots;
        int64_t row = b * n.steps + t, count = spikes.end[row] - spikes.begin[row];
        int32_t *out = to + spikes.begin[row];
        for (int64_t k = 0; k < count; ++k)
          out[k] = static_cast<int32_t>(from[k]);
      }
  });
}

} // namespace

void Spikes::lay_end_to_end(int64_t rows) {
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t count = begin[row];
    begin[row] = start[row] = total;
    end[row] = total += count;
  }
  start[rows] = total;
  storage.reset(new Buffer<int32_t>(total));
  ids = storage->get();
}

std::unique_ptr<Spikes> input_spikes(const LifNetwork &n, int threads, const int32_t *counts) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  for (int64_t b = 0; b < n.batch; ++b)
    for (int64_t t = 0; t < n.steps; ++t)
      spikes->begin[b * n.steps + t] = counts[t * n.batch + b];
  spikes->lay_end_to_end(rows);
  auto copy = n.id_bytes == 4 ? copy_ids<int32_t> : copy_ids<uint16_t>;
  copy(n, threads, *spikes, spikes->storage->get());
  return spikes;
}

std::unique_ptr<Spikes> list_spikes(const Kernel &kernel, const LifNetwork &n, int threads,
                                    const uint8_t *bits, int64_t row_bytes) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  // Rows of samples next to each other lie next to each other, too.
  parallel_for_runs(threads, n.batch, [&](int64_t first, int64_t last, int) {
    int64_t row = first * n.steps;
    kernel.count_bits(bits + row * row_bytes, (last - first) * n.steps, row_bytes,
                      &spikes->begin[row]);
  });
  spikes->lay_end_to_end(rows);
  parallel_for_runs(threads, n.batch, [&](int64_t first, int64_t last, int) {
    int64_t row = first * n.steps;
    kernel.list_bits(bits + row * row_bytes, (last - first) * n.steps, row_bytes,
                     spikes->storage->get() + spikes->start[row],
                     spikes->storage->get() + spikes->start[last * n.steps]);
  });
  return spikes;
}

} // namespace lif
