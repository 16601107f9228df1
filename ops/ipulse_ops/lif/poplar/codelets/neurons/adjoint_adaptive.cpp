// One step back of the neurons of a tile whose thresholds rise with every reset: mu and tau of
// ops/ipulse_ops/lif/reference/network_pass.py, too.
#include <poplar/Vertex.hpp>

#include "adjoint.h"

using namespace poplar;

namespace {

/// The gradients of one sample's rises, and of its thresholds in this step.
template <typename V> struct RisingThresholds {
  RisingThresholds(V &v, unsigned b)
      : v(v), mu(&v.gradRise[b * 2 * v.pairCount]), tau(&v.gradThreshold[b * 2 * v.pairCount]) {}

  V &v;
  float *mu, *tau;

  /// phi mu: what a spike gets for the rise that follows it.
  float ofSlot(unsigned k, unsigned j) const { return v.raises ? v.coefficients[k] * mu[j] : 0.0f; }
  void add(unsigned j, float gradient) const { tau[j] += gradient; }
  void addReset(unsigned j, float gradient) const {
    if (v.raisedReset)
      tau[j] += gradient;
  }
  void end(unsigned at, unsigned p, bool ofConstants, unsigned now, bool cut) const {
    float2 *rise = pairs(mu), *threshold = pairs(tau);
    if (ofConstants) {
      const float2 raised = pairs(&v.drive[2][0])[now * v.samples * v.pairCount + at];
      pairs(&v.byConstants[kByStrength][0])[at] += threshold[p] * raised;
      pairs(&v.byConstants[kByRate][0])[at] += rise[p] * raised;
    }
    rise[p] = cut ? float2{0.0f, 0.0f}
                  : pairs(&v.rate[0])[p] * rise[p] + pairs(&v.strength[0])[p] * threshold[p];
    threshold[p] = float2{0.0f, 0.0f};
  }
};

} // namespace

// As Adjoint and, with a synapse, as AdjointSynapse.
class AdjointAdaptive : public MultiVertex {
public:
  AdjointAdaptive();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> slotGradients;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> coefficients; // phi, read if raises
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> strength;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> rate;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> synapseDecay; // read if hasSynapse
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> resets;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> direct;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> kappa;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradSynapse; // if hasSynapse
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradRise;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradThreshold;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent;
  // v, i and b of the forward pass, [time, samples, row]; all are read if ofConstants.
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 8>>> drive;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> byConstants;
  const unsigned steps, samples, slots, pairCount, firstNeuron;
  const unsigned resetTerm, truncate;
  const bool masked, resetsInHistory, resetsByThreshold;
  // "e includes mu"; "tau includes -r kappa".
  const bool raises, raisedReset;
  const bool hasDirect, ofConstants, hasSynapse;

  bool compute(unsigned worker) {
    const float2 *decay = pairs(&synapseDecay[0]);
    float2 *state = pairs(&gradSynapse[0]);
    const unsigned now = *step, row = samples * pairCount;
    const bool cut = isCut(truncate, now);
    return adjoint<RisingThresholds<AdjointAdaptive>>(
        *this, worker, [&](unsigned at, unsigned p, float2 grad) {
          if (!hasSynapse)
            return grad;
          state[at] = grad + decay[p] * state[at];
          if (ofConstants && now < steps) {
            const float2 *i = pairs(&drive[1][0]);
            const unsigned then = now * row + at;
            const float2 last = now == 0 ? float2{0.0f, 0.0f} : i[then - row];
            pairs(&byConstants[kBySynapseDecay][0])[at] +=
                state[at] * (last - i[then]) / (1.0f - decay[p]);
          }
          const float2 found = (1.0f - decay[p]) * state[at];
          if (cut)
            state[at] = float2{0.0f, 0.0f};
          return found;
        });
  }
};
