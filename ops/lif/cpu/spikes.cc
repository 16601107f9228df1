#include "spikes.h"

#include "pool.h"

namespace lif {

void Spikes::compute_start(int64_t rows) {
  start[0] = 0;
  for (int64_t row = 0; row < rows; ++row)
    start[row + 1] = start[row] + end[row] - begin[row];
}

std::unique_ptr<Spikes> input_spikes(const LifNetwork &n, const int32_t *counts) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  for (int b = 0; b < n.batch; ++b)
    for (int t = 0; t < n.steps; ++t) {
      int64_t place = int64_t(t) * n.batch + b, row = int64_t(b) * n.steps + t;
      spikes->begin[row] = place * n.input_slots;
      spikes->end[row] = place * n.input_slots + counts[place];
    }
  spikes->compute_start(rows);
  if (n.id_bytes == 4) {
    spikes->ids = static_cast<const int32_t *>(n.ids);
    return spikes;
  }
  const auto *narrow = static_cast<const uint16_t *>(n.ids);
  spikes->storage.reset(new Buffer<int32_t>(rows * n.input_slots));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = spikes->begin[row]; k < spikes->end[row]; ++k)
      (*spikes->storage)[k] = narrow[k];
  spikes->ids = spikes->storage->get();
  return spikes;
}

std::unique_ptr<Spikes> list_spikes(const Kernel &kernel, const LifNetwork &n, int threads,
                                    const uint8_t *bits, int64_t row_bytes) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  parallel_for(threads, n.batch, [&](int64_t b, int) {
    int64_t row = b * n.steps;
    kernel.count_bits(bits + row * row_bytes, n.steps, row_bytes, &spikes->begin[row]);
  });
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t count = spikes->begin[row];
    spikes->begin[row] = spikes->start[row] = total;
    spikes->end[row] = total += count;
  }
  spikes->start[rows] = total;
  spikes->storage.reset(new Buffer<int32_t>(total));
  spikes->ids = spikes->storage->get();
  parallel_for(threads, n.batch, [&](int64_t b, int) {
    int64_t row = b * n.steps;
    kernel.list_bits(bits + row * row_bytes, n.steps, row_bytes,
                     spikes->storage->get() + spikes->start[row],
                     spikes->storage->get() + spikes->start[row + n.steps]);
  });
  return spikes;
}

} // namespace lif
