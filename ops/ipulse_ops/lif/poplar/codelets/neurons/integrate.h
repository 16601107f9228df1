// What a step of a tile's neurons does, for vertices with and without rising thresholds.
#ifndef IPULSE_LIF_POPLAR_INTEGRATE_H
#define IPULSE_LIF_POPLAR_INTEGRATE_H

#include "../optimizers/rounding.h"
#include "../pair.h"
#include "../slots.h"
#include "../turns.h"

enum ResetKind : unsigned { kZero, kSubtract, kNone };

/// Stores the states of a layer, `use` of the random bits, which depend on the seed, the step, the
/// sample and the neuron alone.
template <typename V> struct States {
  const V &v;
  unsigned use;
  unsigned step, key0, key1; // read if isRandom

  States(const V &v, unsigned use)
      : v(v), use(use), step(v.isRandom ? *v.drawn : 0),
        key0(v.isRandom ? static_cast<unsigned>(v.seed[0]) : 0),
        key1(v.isRandom ? static_cast<unsigned>(v.seed[1]) : 0) {}

  /// Pair p of sample b; returns what it holds now.
  float2 store(float *row, unsigned b, unsigned p, float2 value) const {
    return pairs(row)[b * v.pairCount + p] = value;
  }
  float2 store(half *row, unsigned b, unsigned p, float2 value) const {
    half *to = &row[2 * (b * v.pairCount + p)];
    if (v.isRandom) {
      const unsigned neuron = v.firstNeuron + 2 * p; // of 16 bits
      const unsigned random = firstOfPhilox(step, neuron | v.layer << 16, b, use, key0, key1);
      to[0] = roundedAtRandom(value[0], random & 0xffff);
      to[1] = roundedAtRandom(value[1], random >> 16);
    } else {
      to[0] = static_cast<half>(value[0]);
      to[1] = static_cast<half>(value[1]);
    }
    return pairOf(to, 0);
  }
};

/// The reset of the step before, of neurons [2 first, 2 last) of sample b. Who was over the
/// threshold is read from u itself; who was emitted, from the layer's own slots.
template <typename State> struct PlainReset {
  template <typename V>
  void begin(V &v, State *u, unsigned b, unsigned first, unsigned last) const {
    if (v.resetOnEmission) {
      const unsigned *counts = &v.ownCounts[2 * b];
      const unsigned begin = v.firstNeuron + 2 * first, end = v.firstNeuron + 2 * last;
      forNeurons(&v.ownIds[b * v.ownSlots], 0, counts[0], begin, end, [&](unsigned, unsigned j) {
        j += 2 * first;
        const float before = static_cast<float>(u[j]);
        u[j] = static_cast<State>(v.reset == kZero       ? 0.0f
                                  : v.reset == kSubtract ? before - v.threshold[j]
                                                         : before);
      });
    } else if (v.reset != kNone) {
      const float *threshold = &v.threshold[0];
      const bool toZero = v.reset == kZero;
      for (unsigned j = 2 * first; j < 2 * last; ++j)
        if (static_cast<float>(u[j]) > threshold[j])
          u[j] = static_cast<State>(toZero ? 0.0f : static_cast<float>(u[j]) - threshold[j]);
    }
  }
  template <typename V> void end(V &, unsigned, unsigned, float2) const {}
};

/// A step with or without a synapse; the two differ in the state of i.
template <typename State, template <typename> class Reset, typename V, typename Synapse>
bool integrate(V &v, unsigned worker, const Synapse &synapse) {
  // Fields that inner loops read are copied: a store might change them, for all the compiler knows.
  const unsigned pairCount = v.pairCount, row = 2 * pairCount;
  const unsigned sources = v.weights.size();
  const float2 *decay = pairs(&v.decay[0]), *scale = pairs(&v.scale[0]);
  const float2 *bias = pairs(&v.bias[0]);
  const States<V> states(v, kRoundedMembrane);
  const Reset<State> reset{};
  // Records v and the current of this step for gradients of constants.
  const unsigned at = v.recordsDrive ? *v.step * v.samples * v.pairCount : 0;
  forSamples(worker, v.samples, v.pairCount, [&](unsigned b, unsigned first, unsigned last) {
    auto *u = &v.u[b * row];
    reset.begin(v, u, b, first, last);
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
      current = synapse(b, p, current);
      if (v.recordsDrive) {
        pairs(&v.drive[0][0])[at + b * v.pairCount + p] = pairOf(u, p);
        pairs(&v.drive[1][0])[at + b * v.pairCount + p] = current;
      }
      const float2 now = states.store(&v.u[0], b, p, decay[p] * pairOf(u, p) + scale[p] * current);
      reset.end(v, b * pairCount + p, p, now);
    }
  });
  return true;
}

#endif
