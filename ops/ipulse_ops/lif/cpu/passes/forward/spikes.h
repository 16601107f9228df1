// Lists of the spikes of all rows.
#ifndef IPULSE_OPS_LIF_CPU_SPIKES_H
#define IPULSE_OPS_LIF_CPU_SPIKES_H

#include "kernels/kernel.h"
#include "support/memory.h"

namespace lif {

// Those of row r are ids[start[r]] up to ids[start[r + 1]], the rows end to end.
struct Spikes {
  explicit Spikes(int64_t rows) : start(rows + 1) {}

  // Takes the place of `count` ids, and says in `start` where the last of `rows` ends.
  void hold(int64_t count, int64_t rows);

  // The same from the samples' counts, which become where each begins; one more is written.
  void lay_samples(int64_t *counts, int64_t samples, int64_t steps);

  const int32_t *ids = nullptr;
  std::unique_ptr<Buffer<int32_t>> storage; // of ids
  Buffer<int64_t> start;
};

// Replaces the counts of rows by the first index of each row, and appends the end of the last.
void lay_end_to_end(int64_t *counts, int64_t rows);

// Copies the first `counts` input spikes of each step and sample, sample by sample: each panel of
// the first layer reads all of a sample; its steps are far apart in the caller's memory. Throws
// std::invalid_argument with the first wrong index.
std::unique_ptr<Spikes> input_spikes(const LifNetwork &network, int threads, const int32_t *counts);

// The set bits of all rows, end to end.
std::unique_ptr<Spikes> list_spikes(const Kernel &kernel, const LifNetwork &network, int threads,
                                    const uint8_t *bits, int64_t row_bytes);

} // namespace lif

#endif
