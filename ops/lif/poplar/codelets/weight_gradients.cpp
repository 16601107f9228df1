// dL/dW and dL/dbias of a tile's neurons, added up over the steps.
#include <poplar/Vertex.hpp>

#include "pair.h"

using namespace poplar;

// Every worker has rows of its own, so that no element is another's, whatever the samples list.
class WeightGradients : public MultiVertex {
public:
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // [samples, slots]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent; // [samples, row]
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradWeights; // [senders, row]
  const unsigned samples, slots, pairCount, senders;

  bool compute(unsigned worker) {
    const unsigned begin = senders * worker / numWorkers();
    const unsigned size = senders * (worker + 1) / numWorkers() - begin;
    for (unsigned b = 0; b < samples; ++b) {
      const float2 *grad = pairs(&gradCurrent[2 * b * pairCount]);
      const unsigned short *list = &ids[b * slots];
      const unsigned spikes = counts[2 * b];
      for (unsigned k = 0; k < spikes; ++k) {
        const unsigned id = list[k];
        if (id - begin >= size)
          continue;
        float2 *row = pairs(&gradWeights[0]) + id * pairCount;
        for (unsigned p = 0; p < pairCount; ++p)
          row[p] += grad[p];
      }
    }
    return true;
  }
};

class BiasGradients : public MultiVertex {
public:
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
