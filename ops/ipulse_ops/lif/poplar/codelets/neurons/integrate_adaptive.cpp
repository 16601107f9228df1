// One step of the neurons of a tile whose thresholds rise with every reset
// (ops/ipulse_ops/lif/reference/network_pass.py, theta[t]).
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "integrate.h"

using namespace poplar;

namespace {

/// What the thresholds rose by is taken from u, in `shifted`, instead of being added to them.
template <typename State> struct AdaptiveReset {
  template <typename V>
  void begin(V &v, State *u, unsigned b, unsigned first, unsigned last) const {
    const unsigned row = b * 2 * v.pairCount;
    float *shifted = &v.shifted[row], *rise = &v.rise[row];
    const float *threshold = &v.threshold[0], *strength = &v.strength[0], *rate = &v.rate[0];
    const bool onEmission = v.resetOnEmission;
    if (onEmission) {
      for (unsigned j = 2 * first; j < 2 * last; ++j)
        shifted[j] = 0.0f;
      const unsigned begin = v.firstNeuron + 2 * first, end = v.firstNeuron + 2 * last;
      forNeurons(&v.ownIds[b * v.ownSlots], 0, v.ownCounts[2 * b], begin, end,
                 [&](unsigned, unsigned j) { shifted[j + 2 * first] = 1.0f; });
    }
    for (unsigned j = 2 * first; j < 2 * last; ++j) {
      const bool was = shifted[j] > (onEmission ? 0.0f : threshold[j]);
      const float before = static_cast<float>(u[j]);
      if (was && v.reset != kNone)
        u[j] = static_cast<State>(
            v.reset == kZero ? 0.0f : before - (threshold[j] + strength[j] * rise[j]));
      rise[j] = rate[j] * rise[j] + (was ? 1.0f : 0.0f);
    }
  }
  template <typename V> void end(V &v, unsigned at, unsigned p, float2 u) const {
    const float2 rise = pairs(&v.rise[0])[at];
    pairs(&v.shifted[0])[at] = u - pairs(&v.strength[0])[p] * rise;
    if (v.recordsDrive)
      pairs(&v.drive[2][0])[*v.step * v.samples * v.pairCount + at] = rise;
  }
};

} // namespace

// As Integrate and, with a synapse, as IntegrateSynapse.
template <typename W, typename S> class IntegrateAdaptive : public MultiVertex {
public:
  IntegrateAdaptive();

  Vector<Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>>> ids;
  Vector<Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>>> counts;
  Vector<Input<Vector<W, VectorLayout::ONE_PTR, 8>>> weights;
  Vector<unsigned> slots;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> bias;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> strength;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> rate;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> synapseDecay; // read if hasSynapse
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ownIds;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> ownCounts;
  InOut<Vector<S, VectorLayout::ONE_PTR, 8>> u;
  InOut<Vector<S, VectorLayout::ONE_PTR, 8>> i; // if hasSynapse
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> rise;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> shifted;
  Input<unsigned> step;
  Input<unsigned> drawn;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> drive; // v, i and b, [time, samples, row]
  const unsigned samples, pairCount, firstNeuron, ownSlots;
  Input<Vector<int, VectorLayout::ONE_PTR, 4>> seed;
  const unsigned reset, layer;
  const bool resetOnEmission, recordsDrive, isRandom, hasSynapse;

  bool compute(unsigned worker) {
    const float2 *decay = pairs(&synapseDecay[0]);
    const States<IntegrateAdaptive> states(*this, kRoundedSynapse);
    S *state = &i[0];
    return integrate<S, AdaptiveReset>(*this, worker, [&](unsigned b, unsigned p, float2 current) {
      if (!hasSynapse)
        return current;
      const float2 before = pairOf(state, b * pairCount + p);
      return states.store(state, b, p, decay[p] * before + (1.0f - decay[p]) * current);
    });
  }
};
template class IntegrateAdaptive<float, float>;
template class IntegrateAdaptive<float, half>;
template class IntegrateAdaptive<half, float>;
template class IntegrateAdaptive<half, half>;
