// One step back of the neurons of a tile: lambda, dL/di and dL/dI of
// ops/ipulse_ops/lif/reference/network_pass.py, where the state lives.
#include <poplar/Vertex.hpp>

#include "adjoint.h"

using namespace poplar;

class Adjoint : public MultiVertex {
public:
  Adjoint();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // own, [samples, slots]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> slotGradients; // [samples, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> coefficients;  // read if there is a reset term
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> resets; // [time, words, row]
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> direct; // [time, samples, row], if hasDirect
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> kappa;        // [samples, row]
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent; // [samples, row]
  // v and i of the forward pass, [time, samples, row]; both are read if ofConstants.
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 8>>> drive;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> byConstants;
  const unsigned steps, samples, slots, pairCount, firstNeuron;
  const unsigned resetTerm, truncate;
  // "dv/du = 1 - r"; whether resets has who was reset without a slot; "dv/dthreshold = -r".
  const bool masked, resetsInHistory, resetsByThreshold;
  const bool hasDirect, ofConstants;

  bool compute(unsigned worker) {
    return adjoint<ConstantThresholds>(*this, worker,
                                       [](unsigned, unsigned, float2 grad) { return grad; });
  }
};

class AdjointSynapse : public MultiVertex {
public:
  AdjointSynapse();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> slotGradients;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> coefficients;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> synapseDecay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> resets;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> direct;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> kappa;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradSynapse; // dL/di, [samples, row]
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> gradCurrent;
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 8>>> drive;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> before; // i before step 0, read if it continues
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> byConstants;
  const unsigned steps, samples, slots, pairCount, firstNeuron;
  const unsigned resetTerm, truncate;
  const bool masked, resetsInHistory, resetsByThreshold;
  const bool hasDirect, ofConstants, continues;

  bool compute(unsigned worker) {
    const float2 *decay = pairs(&synapseDecay[0]);
    float2 *state = pairs(&gradSynapse[0]);
    const unsigned now = *step, row = samples * pairCount;
    const bool cut = isCut(truncate, now);
    const float2 *i = ofConstants ? pairs(&drive[1][0]) : nullptr;
    return adjoint<ConstantThresholds>(*this, worker, [&](unsigned at, unsigned p, float2 grad) {
      state[at] = grad + decay[p] * state[at];
      if (ofConstants && now < steps) {
        // i[t - 1] - I[t], where I[t] is what made i[t] of i[t - 1].
        const unsigned then = now * row + at;
        const float2 start = continues ? pairs(&before[0])[at] : float2{0.0f, 0.0f};
        const float2 last = now == 0 ? start : i[then - row];
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
