// The pooled sites of spikes (ops/ipulse_ops/reference/pooled_spikes.py), for the rows of a tile.
#include <poplar/Vertex.hpp>

#include "../slots.h"
#include "convolution.h"

using namespace poplar;

// The filled slots of a row: calls visit(slot, site, index of the pooled slot).
// Each spike has a pooled slot, gradient-only neurons of one site have one together, and cropped
// neurons and ids of no neuron have none. Returns how many pooled slots are filled, and sets how
// many of these are spikes.
template <typename Visit>
inline unsigned forPooled(const ConvPool &pool, const float *ids, unsigned spikes, unsigned filled,
                          unsigned short *marks, unsigned &pooledSpikes, const Visit &visit) {
  unsigned listed = 0;
  pooledSpikes = 0;
  for (unsigned site = 0; spikes < filled && site < pool.sites(); ++site)
    marks[site] = 0;
  for (unsigned k = 0; k < filled || k < spikes; ++k) {
    if (!isNeuron(ids[k], pool.neurons))
      continue;
    const int site = pool.siteOf(static_cast<unsigned>(static_cast<int>(ids[k])));
    if (site < 0)
      continue;
    const bool isNew = k < spikes || marks[site] == 0;
    const unsigned index = isNew ? listed++ : marks[site] - 1u;
    if (k < spikes)
      pooledSpikes = listed;
    else
      marks[site] = static_cast<unsigned short>(index + 1);
    visit(k, site, index);
  }
  return listed;
}

// Lists the pooled sites; 0 in the slots behind them.
class PooledSlots : public MultiVertex {
public:
  PooledSlots();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids; // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> geometry;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> marks; // [workers, stride], scratch
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> pooled;         // [rows, slots]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> pooledCounts;   // [rows, 2]
  const unsigned rows, slots, countWidth, stride;

  bool compute(unsigned worker) {
    const ConvPool pool(&geometry[0]);
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      float *to = &pooled[r * slots];
      const unsigned spikes = countOf(counts[r * countWidth]);
      const unsigned filled = countOf(counts[(r + 1) * countWidth - 1]);
      unsigned pooledSpikes = 0;
      const unsigned listed = forPooled(
          pool, &ids[r * slots], spikes < slots ? spikes : slots, filled < slots ? filled : slots,
          &marks[worker * stride], pooledSpikes,
          [&](unsigned, int site, unsigned index) { to[index] = static_cast<float>(site); });
      for (unsigned k = listed; k < slots; ++k)
        to[k] = 0.0f;
      pooledCounts[2 * r] = static_cast<float>(static_cast<int>(pooledSpikes));
      pooledCounts[2 * r + 1] = static_cast<float>(static_cast<int>(listed));
    }
    return true;
  }
};

// Gathers the gradients of the pooled slots; 0 in the slots that have none.
class PooledSlotGradients : public MultiVertex {
public:
  PooledSlotGradients();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids; // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> gradients; // [rows, slots], of pooled slots
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> geometry;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> marks; // [workers, stride], scratch
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> values;         // [rows, slots]
  const unsigned rows, slots, countWidth, stride;

  bool compute(unsigned worker) {
    const ConvPool pool(&geometry[0]);
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      const float *from = &gradients[r * slots];
      float *to = &values[r * slots];
      for (unsigned k = 0; k < slots; ++k)
        to[k] = 0.0f;
      const unsigned spikes = countOf(counts[r * countWidth]);
      const unsigned filled = countOf(counts[(r + 1) * countWidth - 1]);
      unsigned pooledSpikes = 0;
      forPooled(pool, &ids[r * slots], spikes < slots ? spikes : slots,
                filled < slots ? filled : slots, &marks[worker * stride], pooledSpikes,
                [&](unsigned k, int, unsigned index) { to[k] = from[index]; });
    }
    return true;
  }
};
