// One step of the neurons of a tile: reset, current, update
// (ops/ipulse_ops/lif/reference/network_pass.py, u[t]).
#include <poplar/Vertex.hpp>

#include "pair.h"
#include "slots.h"
#include "turns.h"

using namespace poplar;

namespace {

enum Reset : unsigned { kZero, kSubtract, kNone };

/// A step with or without a synapse; the two differ in the state of i.
template <typename V, typename Synapse>
bool integrate(const V &v, unsigned worker, const Synapse &synapse) {
  // Fields that inner loops read are copied: a store might change them, for all the compiler knows.
  const unsigned pairCount = v.pairCount, row = 2 * pairCount;
  const unsigned sources = v.weights.size();
  const float2 *decay = pairs(&v.decay[0]), *scale = pairs(&v.scale[0]);
  const float2 *bias = pairs(&v.bias[0]);
  // Records v and the current of this step for gradients of constants.
  const unsigned at = v.recordsDrive ? *v.step * v.samples * v.pairCount : 0;
  forSamples(worker, v.samples, v.pairCount, [&](unsigned b, unsigned first, unsigned last) {
    float *u = &v.u[b * row];
    // The reset of the step before. Who was over the threshold is read from u itself; who was
    // emitted, from the layer's own slots.
    if (v.resetOnEmission) {
      const unsigned *counts = &v.ownCounts[2 * b];
      const unsigned begin = v.firstNeuron + 2 * first, end = v.firstNeuron + 2 * last;
      forNeurons(&v.ownIds[b * v.ownSlots], 0, counts[0], begin, end, [&](unsigned, unsigned j) {
        j += 2 * first;
        u[j] = v.reset == kZero ? 0.0f : v.reset == kSubtract ? u[j] - v.threshold[j] : u[j];
      });
    } else if (v.reset != kNone) {
      const float *threshold = &v.threshold[0];
      const bool toZero = v.reset == kZero;
      for (unsigned j = 2 * first; j < 2 * last; ++j)
        if (u[j] > threshold[j])
          u[j] = toZero ? 0.0f : u[j] - threshold[j];
    }
    for (unsigned p = first; p < last; ++p) {
      float2 current = bias[p];
      for (unsigned s = 0; s < sources; ++s) {
        const unsigned short *ids = &v.ids[s][b * v.slots[s]];
        const auto *weights = &v.weights[s][2 * p];
        const unsigned spikes = v.counts[s][2 * b];
        unsigned k = 0;
        for (; k + 4 <= spikes; k += 4) { // a loop's own work, once for four
          current += pairOf(weights, ids[k] * pairCount);
          current += pairOf(weights, ids[k + 1] * pairCount);
          current += pairOf(weights, ids[k + 2] * pairCount);
          current += pairOf(weights, ids[k + 3] * pairCount);
        }
        for (; k < spikes; ++k)
          current += pairOf(weights, ids[k] * pairCount);
      }
      current = synapse(b * v.pairCount + p, p, current);
      if (v.recordsDrive) {
        pairs(&v.drive[0][0])[at + b * v.pairCount + p] = pairs(u)[p];
        pairs(&v.drive[1][0])[at + b * v.pairCount + p] = current;
      }
      pairs(u)[p] = decay[p] * pairs(u)[p] + scale[p] * current;
    }
  });
  return true;
}

} // namespace

// W: the type of the weights. [samples, neurons] is `u`; sources are the layer's input and, if it
// is recurrent, itself.
template <typename W> class Integrate : public MultiVertex {
public:
  Vector<Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>>> ids;
  Vector<Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>>> counts;
  Vector<Input<Vector<W, VectorLayout::ONE_PTR, 8>>> weights;
  Vector<unsigned> slots; // of a sample, by source
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> bias;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ownIds; // read if resetOnEmission
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> ownCounts;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> u;
  Input<unsigned> step;                                         // read if recordsDrive
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> drive; // v and i, [time, samples, row]
  const unsigned samples, pairCount, firstNeuron, ownSlots;
  const unsigned reset;
  const bool resetOnEmission, recordsDrive;

  bool compute(unsigned worker) {
    return integrate(*this, worker, [](unsigned, unsigned, float2 current) { return current; });
  }
};
template class Integrate<float>;
template class Integrate<half>;

template <typename W> class IntegrateSynapse : public MultiVertex {
public:
  Vector<Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>>> ids;
  Vector<Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>>> counts;
  Vector<Input<Vector<W, VectorLayout::ONE_PTR, 8>>> weights;
  Vector<unsigned> slots;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> bias;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> synapseDecay;
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ownIds;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> ownCounts;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> u;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> i;
  Input<unsigned> step;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> drive;
  const unsigned samples, pairCount, firstNeuron, ownSlots;
  const unsigned reset;
  const bool resetOnEmission, recordsDrive;

  bool compute(unsigned worker) {
    const float2 *decay = pairs(&synapseDecay[0]);
    float2 *state = pairs(&i[0]);
    return ::integrate(*this, worker, [&](unsigned at, unsigned p, float2 current) {
      return state[at] = decay[p] * state[at] + (1.0f - decay[p]) * current;
    });
  }
};
template class IntegrateSynapse<float>;
template class IntegrateSynapse<half>;
