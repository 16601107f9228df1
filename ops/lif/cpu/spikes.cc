#include "spikes.h"

#include <atomic>

#include "checks.h"
#include "pool.h"

namespace lif {
namespace {

// Whether all ids are channels; if not, who reads them reads where nothing is.
template <class Id>
bool copy_ids(const LifNetwork &n, int threads, const Spikes &spikes, int32_t *to) {
  const Id *ids = static_cast<const Id *>(n.ids);
  const auto inputs = static_cast<uint32_t>(n.inputs);
  std::atomic<bool> right{true};
  parallel_for_runs(threads, n.batch, [&](int64_t first, int64_t last, int) {
    // All at once, without a branch for each: no other thread shares this loop.
    bool wrong = false;
    for (int64_t t = 0; t < n.steps; ++t)
      for (int64_t b = first; b < last; ++b) {
        int64_t place = t * n.batch + b, row = b * n.steps + t;
        const Id *from = ids + place * n.input_slots;
        int64_t start = spikes.start[row], count = spikes.start[row + 1] - start;
        int32_t *out = to + start;
        for (int64_t k = 0; k < count; ++k) {
          out[k] = static_cast<int32_t>(from[k]);
          wrong |= static_cast<uint32_t>(from[k]) >= inputs;
        }
        for (int64_t k = count; n.filled && k < n.filled[place]; ++k)
          wrong |= static_cast<uint32_t>(from[k]) >= inputs;
      }
    if (wrong)
      right = false;
  });
  return right;
}

// The input's counts, to rows of samples; false if one of them, or of those filled, cannot be.
bool copy_counts(const LifNetwork &n, const int32_t *counts, int64_t *to) {
  bool wrong = false;
  for (int64_t b = 0; b < n.batch; ++b)
    for (int64_t t = 0; t < n.steps; ++t) {
      int64_t place = t * n.batch + b;
      int32_t count = n.counts[place], filled = n.filled ? n.filled[place] : count;
      wrong |= (count < 0) | (filled < count) | (filled > n.input_slots);
      *to++ = counts[place];
    }
  return !wrong;
}

} // namespace

void lay_end_to_end(int64_t *counts, int64_t rows) {
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t count = counts[row];
    counts[row] = total;
    total += count;
  }
  counts[rows] = total;
}

void Spikes::lay_end_to_end(int64_t rows) {
  lif::lay_end_to_end(start.get(), rows);
  storage.reset(new Buffer<int32_t>(start[rows]));
  ids = storage->get();
}

std::unique_ptr<Spikes> input_spikes(const LifNetwork &n, int threads, const int32_t *counts) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  if (!copy_counts(n, counts, spikes->start.get()))
    refuse_spikes(n);
  spikes->lay_end_to_end(rows);
  auto copy = n.id_bytes == 4 ? copy_ids<int32_t> : copy_ids<uint16_t>;
  if (!copy(n, threads, *spikes, spikes->storage->get()))
    refuse_spikes(n);
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
                      &spikes->start[row]);
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
