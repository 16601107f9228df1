// dL/dW and dL/dbias of a tile's neurons, added up over the steps.
#include <poplar/Vertex.hpp>

#include "pair.h"

using namespace poplar;

// Every worker has rows of its own, so that no element is another's, whatever the samples list.
class WeightGradients : public MultiVertex {
public:
  WeightGradients();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // [samples, slots]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent; // [samples, row]
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradWeights; // [senders, row]
  // [samples, workers + 2], of LocateSpikes; read if located.
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> starts;
  const unsigned samples, slots, pairCount, senders;
  const bool located;

  bool compute(unsigned worker) {
    const unsigned begin = senders * worker / numWorkers();
    const unsigned size = senders * (worker + 1) / numWorkers() - begin;
    // Copied, as in neurons/integrate.h.
    const unsigned pairsOfRow = pairCount, all = samples, stride = slots;
    float2 *rows = pairs(&gradWeights[0]);
    const float2 *grad = pairs(&gradCurrent[0]);
    const unsigned short *list = &ids[0];
    const auto add = [&](unsigned id) {
      float2 *row = rows + id * pairsOfRow;
      for (unsigned p = 0; p < pairsOfRow; ++p)
        row[p] += grad[p];
    };
    if (located) {
      const unsigned *start = &starts[worker];
      for (unsigned b = 0; b < all; ++b, grad += pairsOfRow, list += stride) {
        const unsigned short *id = list + start[0], *end = list + start[1];
        start += numWorkers() + 2;
        if (pairsOfRow == 1) { // as where a layer has tiles enough: the row is the pair
          const float2 one = *grad;
          for (; id != end; ++id)
            rows[*id] += one;
        }
        for (; id != end; ++id)
          add(*id);
      }
      return true;
    }
    const unsigned *count = &counts[0];
    for (unsigned b = 0; b < all; ++b, grad += pairsOfRow, list += stride, count += 2) {
      const unsigned spikes = *count;
      for (unsigned k = 0; k < spikes; ++k)
        if (list[k] - begin < size)
          add(list[k]);
    }
    return true;
  }
};

class BiasGradients : public MultiVertex {
public:
  BiasGradients();

  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent; // [samples, row]
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradBias;    // [row]
  const unsigned samples, pairCount;

  bool compute(unsigned worker) {
    for (unsigned p = worker; p < pairCount; p += numWorkers()) {
      float2 sum = pairs(&gradBias[0])[p];
      for (unsigned b = 0; b < samples; ++b)
        sum += pairs(&gradCurrent[0])[b * pairCount + p];
      pairs(&gradBias[0])[p] = sum;
    }
    return true;
  }
};
