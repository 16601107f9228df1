// dL/ds at the slots of a layer: what the tiles of the layers it sends to find, summed up.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "pair.h"
#include "slots.h"
#include "turns.h"

using namespace poplar;

// A tile's part of it: the rows of its weights at the filled slots times dL/dI of its neurons.
template <typename W> class SlotPartials : public MultiVertex {
public:
  SlotPartials();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // [samples, slots]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<W, VectorLayout::ONE_PTR, 8>> weights;         // [senders, row], float or half
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent; // [samples, row]
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> partials;   // [samples, slots]
  const unsigned samples, slots, pairCount;

  bool compute(unsigned worker) {
    const unsigned pairsOfRow = pairCount;
    const W *rows = &weights[0];
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const float2 *grad = pairs(&gradCurrent[2 * b * pairsOfRow]);
      const unsigned short *list = &ids[b * slots];
      float *to = &partials[b * slots];
      const unsigned filled = counts[2 * b + 1];
      if (pairsOfRow == 1) { // as in weight_gradients.cpp
        const float2 one = *grad;
        for (unsigned k = 0; k < filled; ++k) {
          const float2 product = pairOf(rows, list[k]) * one;
          to[k] = product[0] + product[1];
        }
        continue;
      }
      for (unsigned k = 0; k < filled; ++k) {
        const W *row = rows + 2 * list[k] * pairsOfRow;
        float2 sum = pairOf(row, 0) * grad[0];
        for (unsigned p = 1; p < pairsOfRow; ++p)
          sum += pairOf(row, p) * grad[p];
        to[k] = sum[0] + sum[1];
      }
    }
    return true;
  }
};
template class SlotPartials<float>;
template class SlotPartials<half>;

// The sum of rows [rows, width], each worker for its own pairs of columns. Slots that are not
// filled hold anything, and nobody reads their sum.
class SumRows : public MultiVertex {
public:
  SumRows();

  Input<Vector<float, VectorLayout::ONE_PTR, 8>> rows;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> sum;
  const unsigned rowCount, pairCount;

  bool compute(unsigned worker) {
    const unsigned width = pairCount, count = rowCount;
    for (unsigned p = worker; p < width; p += numWorkers()) {
      const float2 *row = pairs(&rows[0]) + p;
      float2 total = *row;
      for (unsigned r = 1; r < count; ++r)
        total += *(row += width);
      pairs(&sum[0])[p] = total;
    }
    return true;
  }
};

// phi times what a sample's slots got from the loss and from other layers: lambda's part of it.
class SlotGradients : public MultiVertex {
public:
  SlotGradients();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> sums;      // [groups, width]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> direct;    // [time, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> phi;       // [time, slots]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // of this step
  Input<unsigned> step;
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> gradients;
  // The last ones of the groups are of the layer's own receivers, one step later.
  const unsigned steps, slots, groups, ownGroups, width, truncate;

  bool compute(unsigned worker) {
    const bool cut = truncate != 0 && (*step + 1) % truncate == 0;
    const unsigned row = *step * slots, number = cut ? groups - ownGroups : groups;
    const unsigned stride = width;
    const unsigned filled = *step < steps ? counts[1] : 0;
    const float *given = &direct[row], *slope = &phi[row];
    float *to = &gradients[0];
    for (unsigned k = worker; k < filled; k += numWorkers()) {
      const float *part = &sums[k];
      float sum = given[k];
      for (unsigned g = 0; g < number; ++g, part += stride)
        sum += *part;
      to[k] = slope[k] * sum;
    }
    return true;
  }
};

// Computes phi dv/dr without its sign at a sample's slots, for a reset that is not constant.
class ResetCoefficients : public MultiVertex {
public:
  ResetCoefficients();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> phi; // [time, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> u;   // [time, slots], read if timesMembrane
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<unsigned> step;
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> coefficients;
  const unsigned steps, slots;
  const bool timesMembrane;

  bool compute(unsigned worker) {
    const unsigned row = *step * slots;
    const unsigned filled = *step < steps ? counts[1] : 0;
    for (unsigned k = worker; k < filled; k += numWorkers())
      coefficients[k] = timesMembrane ? phi[row + k] * u[row + k] : phi[row + k];
    return true;
  }
};

// The same for the input's spikes, which go out [time, slots] where they came in: 0 behind the
// filled slots and where the id was ignored.
class RecordInputGradients : public MultiVertex {
public:
  RecordInputGradients();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> sums; // [groups, width]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids;  // [time, slots], as they came in
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> history;
  const unsigned steps, offset, slots, groups, width, neurons;

  bool compute(unsigned worker) {
    const unsigned row = *step + offset;
    if (row >= steps || worker != 0)
      return true;
    unsigned next = 0; // of the spikes that were kept
    for (unsigned k = 0; k < slots; ++k) {
      float sum = 0;
      if (next < counts[1] && isNeuron(ids[row * slots + k], neurons)) {
        for (unsigned g = 0; g < groups; ++g)
          sum += sums[g * width + next];
        ++next;
      }
      history[row * slots + k] = sum;
    }
    return true;
  }
};
