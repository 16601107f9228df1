// One step back of the neurons of a tile: lambda, dL/di and dL/dI of
// ops/ipulse_ops/lif/reference/network_pass.py, where the state lives.
#include <poplar/Vertex.hpp>

#include "pair.h"
#include "slots.h"
#include "turns.h"

using namespace poplar;

namespace {

// The factor of the term dv/dr: none, u, or the threshold.
enum ResetTerm : unsigned { kNoTerm, kMembraneTerm, kThresholdTerm };
// The gradients in `byConstants`, [samples, row] each; one worker handles a sample.
enum ByConstant : unsigned { kByDecay, kByScale, kByThreshold, kBySynapseDecay };

template <typename V, typename Synapse>
bool adjoint(const V &v, unsigned worker, const Synapse &synapse) {
  // Copied, as in integrate.cpp.
  const unsigned pairCount = v.pairCount, row = 2 * pairCount, now = *v.step;
  const bool inside = now < v.steps;
  const float2 *decay = pairs(&v.decay[0]), *scale = pairs(&v.scale[0]);
  forSamples(worker, v.samples, v.pairCount, [&](unsigned b, unsigned first, unsigned last) {
    // kappa becomes lambda in place, and kappa again.
    float *lambda = &v.kappa[b * row];
    const unsigned short *ids = &v.ids[b * v.slots];
    // Without slots, a readout that never spikes.
    const unsigned spikes = v.slots ? v.counts[2 * b] : 0;
    const unsigned filled = v.slots ? v.counts[2 * b + 1] : 0;
    const unsigned begin = v.firstNeuron + 2 * first, end = v.firstNeuron + 2 * last;
    const auto ofSlots = [&](unsigned from, unsigned to, const auto &visit) {
      forNeurons(ids, from, to, begin, end,
                 [&](unsigned k, unsigned j) { visit(b * v.slots + k, j + 2 * first); });
    };
    float *byThreshold = v.ofConstants ? &v.byConstants[kByThreshold][b * row] : nullptr;
    const auto gradient = [&](unsigned k, unsigned j, float kappa) {
      float found = v.slotGradients[k];
      if (v.resetTerm == kMembraneTerm)
        found -= v.coefficients[k] * kappa;
      else if (v.resetTerm == kThresholdTerm)
        found -= v.coefficients[k] * v.threshold[j] * kappa;
      if (byThreshold)
        byThreshold[j] -= found;
      return found;
    };
    // Spikes first: their kappa is still whole, and a reset to zero takes the rest of it away.
    ofSlots(0, spikes, [&](unsigned k, unsigned j) {
      const float kappa = lambda[j];
      if (v.resetsByThreshold)
        byThreshold[j] -= kappa;
      lambda[j] = gradient(k, j, kappa) + (v.masked ? 0.0f : kappa);
    });
    if (v.resetsInHistory && inside) {
      // Neurons that were reset without a slot. The history is [time, words, row].
      const unsigned words = (v.samples + 23) / 24, bit = b % 24;
      const float *resets = &v.resets[(now * words + b / 24) * row];
      unsigned k = firstSlot(ids, 0, spikes, begin);
      for (unsigned j = 2 * first; j < 2 * last; ++j) {
        const bool listed = k < spikes && ids[k] == v.firstNeuron + j;
        k += listed;
        if (listed || !((static_cast<unsigned>(static_cast<int>(resets[j])) >> bit) & 1))
          continue;
        if (v.resetsByThreshold)
          byThreshold[j] -= lambda[j];
        if (v.masked)
          lambda[j] = 0.0f;
      }
    }
    ofSlots(spikes, filled,
            [&](unsigned k, unsigned j) { lambda[j] += gradient(k, j, lambda[j]); });
    const float2 *direct =
        v.hasDirect && inside ? pairs(&v.direct[(now * v.samples + b) * row]) : nullptr;
    float2 *gradCurrent = pairs(&v.gradCurrent[b * row]), *state = pairs(lambda);
    const bool ofConstants = v.ofConstants && inside;
    for (unsigned p = first; p < last; ++p) {
      const unsigned at = b * pairCount + p;
      float2 total = state[p];
      if (direct)
        total += direct[p];
      if (ofConstants) {
        const unsigned then = now * v.samples * pairCount + at;
        pairs(&v.byConstants[kByDecay][0])[at] += total * pairs(&v.drive[0][0])[then];
        pairs(&v.byConstants[kByScale][0])[at] += total * pairs(&v.drive[1][0])[then];
      }
      gradCurrent[p] = synapse(at, p, scale[p] * total);
      state[p] = decay[p] * total;
    }
  });
  return true;
}

} // namespace

class Adjoint : public MultiVertex {
public:
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
  const unsigned resetTerm;
  // "dv/du = 1 - r"; whether resets has who was reset without a slot; "dv/dthreshold = -r".
  const bool masked, resetsInHistory, resetsByThreshold;
  const bool hasDirect, ofConstants;

  bool compute(unsigned worker) {
    return adjoint(*this, worker, [](unsigned, unsigned, float2 grad) { return grad; });
  }
};

class AdjointSynapse : public MultiVertex {
public:
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
  const unsigned resetTerm;
  const bool masked, resetsInHistory, resetsByThreshold;
  const bool hasDirect, ofConstants, continues;

  bool compute(unsigned worker) {
    const float2 *decay = pairs(&synapseDecay[0]);
    float2 *state = pairs(&gradSynapse[0]);
    const unsigned now = *step, row = samples * pairCount;
    const float2 *i = ofConstants ? pairs(&drive[1][0]) : nullptr;
    return adjoint(*this, worker, [&](unsigned at, unsigned p, float2 grad) {
      state[at] = grad + decay[p] * state[at];
      if (ofConstants && now < steps) {
        // i[t - 1] - I[t], where I[t] is what made i[t] of i[t - 1].
        const unsigned then = now * row + at;
        const float2 start = continues ? pairs(&before[0])[at] : float2{0.0f, 0.0f};
        const float2 last = now == 0 ? start : i[then - row];
        pairs(&byConstants[kBySynapseDecay][0])[at] +=
            state[at] * (last - i[then]) / (1.0f - decay[p]);
      }
      return (1.0f - decay[p]) * state[at];
    });
  }
};
