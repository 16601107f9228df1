// Codelets of the programs in this folder.
#include <ipudef.h>
#include <poplar/Vertex.hpp>

#include "pairs.h"

using namespace poplar;

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
  Neuron();

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
  Neurons();

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
  SharedNeurons();

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
  CurrentOfIds();

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
  CurrentOfDense();

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
  CurrentOfMask();

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
  AddAt();

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
  AddPairsAt();

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
