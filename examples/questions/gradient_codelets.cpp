// Codelets of weight_gradient.cpp.
#include <poplar/Vertex.hpp>

#include "pairs.h"

using namespace poplar;

// Computes grads[id][neuron] += error[sample][neuron] for the ids of every sample, with an even
// number of neurons and one worker.
class WeightsByOne : public Vertex {
public:
  WeightsByOne();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR>> ids; // [samples, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> error;     // [samples, neurons]
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> grads;     // [inputs, neurons]
  const unsigned samples, slots, pairCount;

  bool compute() {
    const unsigned short *list = &ids[0];
    const float2 *e = pairs(&error[0]);
    const unsigned all = pairCount, n = slots;
    for (unsigned b = 0; b < samples; ++b, e += all, list += n)
      for (unsigned k = 0; k < n; ++k)
        for (unsigned p = 0; p < all; ++p)
          pairs(&grads[0])[list[k] * all + p] += e[p];
    return true;
  }
};

// Shares the ids of one sample, which are all different, among the workers.
class WeightsOfSample : public MultiVertex {
public:
  WeightsOfSample();

  Input<Vector<unsigned short>> ids; // [slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> error;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> grads;
  const unsigned pairCount;

  bool compute(unsigned worker) {
    const unsigned short *list = &ids[0];
    const unsigned all = pairCount, n = ids.size();
    const float2 *e = pairs(&error[0]);
    for (unsigned k = worker; k < n; k += numWorkers())
      for (unsigned p = 0; p < all; ++p)
        pairs(&grads[0])[list[k] * all + p] += e[p];
    return true;
  }
};

// Shares the samples among the workers, each with a copy of the gradients.
class WeightsByCopy : public MultiVertex {
public:
  WeightsByCopy();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR>> ids;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> error;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> grads; // [workers, inputs, neurons]
  const unsigned samples, slots, pairCount, inputs;

  bool compute(unsigned worker) {
    const unsigned all = pairCount, n = slots;
    float2 *own = pairs(&grads[0]) + worker * inputs * all;
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const unsigned short *list = &ids[b * n];
      const float2 *e = pairs(&error[0]) + b * all;
      for (unsigned k = 0; k < n; ++k)
        for (unsigned p = 0; p < all; ++p)
          own[list[k] * all + p] += e[p];
    }
    return true;
  }
};

// Scans all ids with every worker, each of which updates rows of its own.
class WeightsByRows : public MultiVertex {
public:
  WeightsByRows();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR>> ids;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> error;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> grads;
  const unsigned samples, slots, pairCount, inputs;

  bool compute(unsigned worker) {
    const unsigned begin = inputs * worker / numWorkers();
    const unsigned size = inputs * (worker + 1) / numWorkers() - begin;
    const unsigned short *list = &ids[0];
    const float2 *e = pairs(&error[0]);
    float2 *rows = pairs(&grads[0]);
    const unsigned all = pairCount, n = slots;
    for (unsigned b = 0; b < samples; ++b, e += all, list += n)
      for (unsigned k = 0; k < n; ++k)
        if (list[k] - begin < size)
          for (unsigned p = 0; p < all; ++p)
            rows[list[k] * all + p] += e[p];
    return true;
  }
};

// Does the same, given where in a sample's sorted ids each worker's rows begin.
class WeightsByStarts : public MultiVertex {
public:
  WeightsByStarts();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR>> ids;
  Input<Vector<unsigned, VectorLayout::ONE_PTR>> starts; // [samples, workers + 1]
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> error;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> grads;
  const unsigned samples, slots, pairCount;

  bool compute(unsigned worker) {
    const unsigned short *list = &ids[0];
    const unsigned *start = &starts[worker];
    const float2 *e = pairs(&error[0]);
    float2 *rows = pairs(&grads[0]);
    const unsigned all = pairCount, n = slots;
    for (unsigned b = 0; b < samples; ++b, e += all, list += n, start += numWorkers() + 1)
      for (unsigned k = start[0], end = start[1]; k < end; ++k)
        for (unsigned p = 0; p < all; ++p)
          rows[list[k] * all + p] += e[p];
    return true;
  }
};
