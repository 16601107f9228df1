// Codelets of the programs in this folder.
#include <ipudef.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

namespace {

const float2 *pairs(const float *row) { return reinterpret_cast<const float2 *>(row); }
float2 *pairs(float *row) { return reinterpret_cast<float2 *>(row); }

} // namespace

// Reads its input with one worker.
class Sum : public Vertex {
public:
  Input<Vector<float>> in;
  Output<float> sum;

  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < in.size(); ++i)
      total += in[i];
    *sum = total;
    return true;
  }
};

// Advances one neuron: adds the weights of the inputs that spiked, and applies the leak.
class Neuron : public Vertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR>> weights; // [inputs]
  Input<Vector<unsigned short>> ids;
  InOut<float> u;
  const float decay;

  bool compute() {
    float current = 0;
    for (unsigned k = 0; k < ids.size(); ++k)
      current += weights[ids[k]];
    *u = decay * *u + current;
    return true;
  }
};

// Advances some neurons with one worker.
class Neurons : public Vertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR>> weights; // [neurons, inputs]
  Input<Vector<unsigned short>> ids;
  InOut<Vector<float>> u;
  const float decay;
  const unsigned inputs;

  bool compute() {
    const float *row = &weights[0];
    for (unsigned i = 0; i < u.size(); ++i, row += inputs) {
      float current = 0;
      for (unsigned k = 0; k < ids.size(); ++k)
        current += row[ids[k]];
      u[i] = decay * u[i] + current;
    }
    return true;
  }
};

// Advances some neurons, shared by the workers of the tile.
class SharedNeurons : public MultiVertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR>> weights;
  Input<Vector<unsigned short>> ids;
  InOut<Vector<float>> u;
  const float decay;
  const unsigned inputs;

  bool compute(unsigned worker) {
    for (unsigned i = worker; i < u.size(); i += numWorkers()) {
      const float *row = &weights[i * inputs];
      float current = 0;
      for (unsigned k = 0; k < ids.size(); ++k)
        current += row[ids[k]];
      u[i] = decay * u[i] + current;
    }
    return true;
  }
};

// Computes the currents of a tile's neurons, an even number, from one representation of the
// spikes. Workers share the samples.
template <typename Id> class CurrentOfIds : public MultiVertex {
public:
  Input<Vector<Id, VectorLayout::ONE_PTR, 4>> ids; // [samples, slots]
  Input<Vector<unsigned, VectorLayout::ONE_PTR>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> weights;  // [inputs, neurons]
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> current; // [samples, neurons]
  const unsigned samples, slots, pairCount;

  bool compute(unsigned worker) {
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const Id *list = &ids[b * slots];
      const unsigned spikes = counts[b], all = pairCount;
      float2 *to = pairs(&current[0]) + b * all;
      for (unsigned p = 0; p < all; ++p) {
        const float2 *row = pairs(&weights[0]) + p;
        float2 sum = {0, 0};
        for (unsigned k = 0; k < spikes; ++k)
          sum += row[list[k] * all];
        to[p] = sum;
      }
    }
    return true;
  }
};
template class CurrentOfIds<unsigned short>;
template class CurrentOfIds<unsigned>;

class CurrentOfDense : public MultiVertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> spikes; // [samples, inputs], 0 or 1
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> weights;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> current;
  const unsigned samples, inputs, pairCount;

  bool compute(unsigned worker) {
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const float *x = &spikes[b * inputs];
      const unsigned senders = inputs, all = pairCount;
      float2 *to = pairs(&current[0]) + b * all;
      for (unsigned p = 0; p < all; ++p) {
        const float2 *row = pairs(&weights[0]) + p;
        float2 sum = {0, 0};
        for (unsigned i = 0; i < senders; ++i, row += all) {
          const float2 both = {x[i], x[i]};
          sum += both * *row;
        }
        to[p] = sum;
      }
    }
    return true;
  }
};

class CurrentOfMask : public MultiVertex {
public:
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> mask; // [samples, inputs / 32]
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> weights;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> current;
  const unsigned samples, words, pairCount;

  bool compute(unsigned worker) {
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const unsigned *x = &mask[b * words];
      const unsigned count = words, all = pairCount;
      float2 *to = pairs(&current[0]) + b * all;
      for (unsigned p = 0; p < all; ++p) {
        const float2 *row = pairs(&weights[0]) + p;
        float2 sum = {0, 0};
        for (unsigned w = 0; w < count; ++w, row += 32 * all)
          for (unsigned left = x[w]; left;) {
            const unsigned bit = 31 - __builtin_clz(left);
            left ^= 1u << bit;
            sum += row[bit * all];
          }
        to[p] = sum;
      }
    }
    return true;
  }
};

// Computes sums[ids[k]] += value: a load, an addition and a store for each id.
template <typename Id> class AddAt : public Vertex {
public:
  Input<Vector<Id>> ids;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> sums;
  const float value;

  bool compute() {
    float *to = &sums[0];
    const float one = value;
    const Id *list = &ids[0];
    for (unsigned k = 0, n = ids.size(); k < n; ++k)
      to[static_cast<unsigned>(list[k])] += one;
    return true;
  }
};
template class AddAt<unsigned short>;
template class AddAt<unsigned>;
template class AddAt<int>;
template class AddAt<float>;

// Does the same for pairs, which begin at multiples of 8 bytes: twice the elements.
class AddPairsAt : public Vertex {
public:
  Input<Vector<unsigned short>> ids;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> sums;
  const float value;

  bool compute() {
    float2 *to = pairs(&sums[0]);
    const float2 one = {value, value};
    const unsigned short *list = &ids[0];
    for (unsigned k = 0, n = ids.size(); k < n; ++k)
      to[list[k]] += one;
    return true;
  }
};

// Computes grads[id][neuron] += error[sample][neuron] for the ids of every sample, with an even
// number of neurons and one worker.
class WeightsByOne : public Vertex {
public:
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
