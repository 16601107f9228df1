// How a layer's neurons are cut into panels.
//
// A panel is a run of neurons with constants and weights packed side by side, 1, 2, 4 or 8
// vectors wide: [inputs][width], so that a spike reads one short contiguous row, a panel of weights
// stays in the L2 cache for all samples and steps, and the currents of a step stay in registers.
// Padding neurons have weights 0 and thresholds that nothing reaches.
//
// Weights stored as bfloat16 take half of that: a word of 32 bits holds a lane of two neighbouring
// vectors, the first's in its lower half. Either is widened by one instruction, and that loads
// both. A panel of a single vector leaves the upper halves 0.
//
// Rows: row b * steps + t is step t of sample b. A set of neurons is a row of bits, bit n of a row
// is neuron n; a row has row_bytes, a multiple of 16.
#ifndef IPULSE_OPS_LIF_CPU_PANELS_H
#define IPULSE_OPS_LIF_CPU_PANELS_H

#include <cstdint>

#include "interface/lif.h"

namespace lif {

constexpr int MAX_WIDTH = 128; // neurons of a panel, and of a chunk
constexpr int MAX_VECTORS = 8; // of a panel
constexpr int SUM_LANES = 16;  // of a sampled product's sum in every kernel, see sampled_product.h

struct Panels {
  int neurons;
  int vectors; // of a panel: 1, 2, 4 or 8
  int width;   // neurons of a panel
  int count;   // of whole chunks
  int chunk;   // panels of a chunk: 1, or 2 where a kernel's panels are narrower than the chunk

  int first(int panel) const { return panel * width; }
  int columns(int panel) const { // without the padding
    int rest = neurons - panel * width;
    return rest < 0 ? 0 : rest < width ? rest : width;
  }
  // Products with the neurons of a chunk are summed together. All kernels cut the same chunks, so
  // that sums are equal to the bit; the panels of a kernel do not change them.
  int chunk_neurons() const { return chunk * width; }
};

// Words of 32 bits in a row of a packed panel. storage: LifWeights.
inline int64_t row_words(const Panels &panels, int storage) {
  bool in_pairs = storage == LIF_WEIGHTS_BFLOAT16 && panels.vectors > 1;
  return in_pairs ? panels.width / 2 : panels.width;
}

struct Constants { // of one panel, [width]
  const float *decay, *scale, *threshold, *second;
  const float *bias; // null: none, and so are the general constants
#define LIF_FIELD(name) const float *name;
  LIF_GENERAL_CONSTANTS(LIF_FIELD)
#undef LIF_FIELD
};

} // namespace lif

#endif
