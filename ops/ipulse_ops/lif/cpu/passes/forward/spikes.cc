#include "spikes.h"

#include <atomic>

#include "passes/checks.h"
#include "support/pool.h"

namespace lif {
namespace {

// Returns false if an id is out of range: reading its row would be out of bounds.
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
  for (int64_t t = 0, place = 0; t < n.steps; ++t)
    for (int64_t b = 0; b < n.batch; ++b, ++place) {
      int32_t count = n.counts[place], filled = n.filled ? n.filled[place] : count;
      wrong |= (count < 0) | (filled < count) | (filled > n.input_slots);
      to[b * n.steps + t] = counts[place];
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

void Spikes::lay_samples(int64_t *counts, int64_t samples, int64_t steps) {
  lay_end_to_end(counts, samples);
  hold(counts[samples], samples * steps);
}

void Spikes::hold(int64_t count, int64_t rows) {
  start[rows] = count;
  storage.reset(new Buffer<int32_t>(count));
  ids = storage->get();
}

std::unique_ptr<Spikes> input_spikes(const LifNetwork &n, int threads, const int32_t *counts) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  if (!copy_counts(n, counts, spikes->start.get()))
    refuse_spikes(n);
  lay_end_to_end(spikes->start.get(), rows);
  spikes->hold(spikes->start[rows], rows);
  auto copy = n.id_bytes == 4 ? copy_ids<int32_t> : copy_ids<uint16_t>;
  if (!copy(n, threads, *spikes, spikes->storage->get()))
    refuse_spikes(n);
  return spikes;
}

std::unique_ptr<Spikes> list_spikes(const Kernel &kernel, const LifNetwork &n, int threads,
                                    const uint8_t *bits, int64_t row_bytes) {
  int64_t rows = int64_t(n.batch) * n.steps;
  std::unique_ptr<Spikes> spikes(new Spikes(rows));
  Buffer<int64_t> first(n.batch + 1);
  int64_t sample_bytes = n.steps * row_bytes;
  parallel_for_runs(threads, n.batch, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b)
      first[b] = kernel.count_bits(bits + b * sample_bytes, sample_bytes);
  });
  spikes->lay_samples(first.get(), n.batch, n.steps);
  parallel_for_runs(threads, n.batch, [&](int64_t begin, int64_t end, int) {
    kernel.list_bits(bits + begin * sample_bytes, (end - begin) * n.steps, row_bytes, first[begin],
                     &spikes->start[begin * n.steps], spikes->storage->get() + first[begin],
                     spikes->storage->get() + first[end]);
  });
  return spikes;
}

} // namespace lif
