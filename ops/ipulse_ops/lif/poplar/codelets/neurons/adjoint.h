// What a step back of a tile's neurons does, for vertices with and without rising thresholds.
#ifndef IPULSE_LIF_POPLAR_ADJOINT_H
#define IPULSE_LIF_POPLAR_ADJOINT_H

#include "../pair.h"
#include "../slots.h"
#include "../turns.h"

// The factor of the term dv/dr: none, u, or the threshold.
enum ResetTerm : unsigned { kNoTerm, kMembraneTerm, kThresholdTerm };
// The gradients in `byConstants`, [samples, row] each; one worker handles a sample.
enum ByConstant : unsigned {
  kByDecay,
  kByScale,
  kByThreshold,
  kBySynapseDecay,
  kByStrength,
  kByRate
};

/// Returns true if no gradient passes from step `now` to the step before.
inline bool isCut(unsigned truncate, unsigned now) { return truncate != 0 && now % truncate == 0; }

/// Thresholds that stay: nothing more to do.
struct ConstantThresholds {
  template <typename V> ConstantThresholds(V &, unsigned) {}
  float ofSlot(unsigned, unsigned) const { return 0.0f; }
  void add(unsigned, float) const {}
  void addReset(unsigned, float) const {}
  void end(unsigned, unsigned, bool, unsigned, bool) const {}
};

template <typename Thresholds, typename V, typename Synapse>
bool adjoint(V &v, unsigned worker, const Synapse &synapse) {
  // Copied, as in integrate.h.
  const unsigned pairCount = v.pairCount, row = 2 * pairCount, now = *v.step;
  const bool inside = now < v.steps, cut = isCut(v.truncate, now);
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
    const Thresholds thresholds(v, b);
    const auto gradient = [&](unsigned k, unsigned j, float kappa) {
      float found = v.slotGradients[k] + thresholds.ofSlot(k, j);
      if (v.resetTerm == kMembraneTerm)
        found -= v.coefficients[k] * kappa;
      else if (v.resetTerm == kThresholdTerm)
        found -= v.coefficients[k] * v.threshold[j] * kappa;
      thresholds.add(j, -found);
      if (byThreshold)
        byThreshold[j] -= found;
      return found;
    };
    // Spikes first: their kappa is still whole, and a reset to zero takes the rest of it away.
    ofSlots(0, spikes, [&](unsigned k, unsigned j) {
      const float kappa = lambda[j];
      thresholds.addReset(j, -kappa);
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
        thresholds.addReset(j, -lambda[j]);
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
      thresholds.end(at, p, ofConstants, now, cut);
      gradCurrent[p] = synapse(at, p, scale[p] * total);
      state[p] = cut ? float2{0.0f, 0.0f} : decay[p] * total;
    }
  });
  return true;
}

#endif
