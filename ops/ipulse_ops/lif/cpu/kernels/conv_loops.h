// The inner loops of a convolution over the vector type `Vec`; see conv_kernel.h.
#ifndef IPULSE_OPS_LIF_CPU_CONV_LOOPS_H
#define IPULSE_OPS_LIF_CPU_CONV_LOOPS_H

#include "crowded_loops.h"
#include "dense_gather.h"
#include "kernels/arguments/conv.h"
#include "surrogate.h"
#include "vectors.h"

namespace {

constexpr int SUMS = 16;       // virtual lanes of a dot product, on every machine
constexpr int WIDE = SUMS / L; // vectors that they take
static_assert(WIDE * L == SUMS && CONV_BLOCK % L == 0, "sixteen lanes are whole vectors");

inline void add_floats(float *to, const float *from, int64_t floats) {
  int64_t i = 0;
  for (; i + L <= floats; i += L)
    Vec::store(to + i, Vec::add(Vec::load(to + i), Vec::load(from + i)));
  if (i < floats) {
    int rest = static_cast<int>(floats - i);
    Vec::store_first(to + i, rest,
                     Vec::add(Vec::load_first(to + i, rest), Vec::load_first(from + i, rest)));
  }
}

// Calls use(floats of the plane, floats of the weights, how many) for every run of an event.
template <class Use> inline void for_runs(const ConvTables &tables, int32_t event, Use use) {
  const ConvSite &site = tables.site[event];
  const ConvRun *run_end = tables.run + tables.first_run[site.x + 1];
  for (int32_t r = tables.first_row[site.y]; r < tables.first_row[site.y + 1]; ++r) {
    const ConvRow &row = tables.row[r];
    int64_t target = row.target + site.target, weights = site.row + row.tap;
    for (const ConvRun *run = tables.run + tables.first_run[site.x]; run < run_end; ++run)
      use(target + run->target, weights * run->stride + run->weights, run->floats);
  }
}

void conv_scatter(const ConvTables &tables, const int32_t *events, int64_t count,
                  const float *weights, float *plane) {
  for (int64_t k = 0; k < count;) {
    const CrowdedRow crowd(tables, events + k, count - k);
    const int64_t end = k + crowd.events;
    if (2 * crowd.places <= crowd.events)
      scatter_row(tables, events + k, crowd, weights, plane);
    else
      for (int64_t i = k; i < end; ++i)
        for_runs(tables, events[i], [&](int64_t target, int64_t from, int32_t floats) {
          add_floats(plane + target, weights + from, floats);
        });
    k = end;
  }
}

void conv_collect(const ConvTables &tables, const int32_t *events, int64_t count,
                  const float *plane, float *weights) {
  for (int64_t k = 0; k < count; ++k)
    for_runs(tables, events[k], [&](int64_t target, int64_t to, int32_t floats) {
      add_floats(weights + to, plane + target, floats);
    });
}

// The sum of sixteen lanes.
inline float sum_lanes(float (&lane)[SUMS]) {
  for (int half = SUMS / 2; half; half /= 2)
    for (int i = 0; i < half; ++i)
      lane[i] += lane[i + half];
  return lane[0];
}

// The products of events in one place of the input, which reach the same runs of the plane: each
// vector of it is loaded once for all of them.
template <int EVENTS>
inline void gather_place(const ConvTables &tables, const int32_t *events, const float *weights,
                         const float *plane, float *out) {
  F sum[EVENTS][WIDE];
  LIF_UNROLL for (int e = 0; e < EVENTS; ++e) LIF_UNROLL for (int j = 0; j < WIDE; ++j) sum[e][j] =
      Vec::zero();
  const ConvSite &place = tables.site[events[0]];
  int64_t channel[EVENTS]; // its rows of the packed weights
  for (int e = 0; e < EVENTS; ++e)
    channel[e] = tables.site[events[e]].row;
  const ConvRun *run_end = tables.run + tables.first_run[place.x + 1];
  for (int32_t r = tables.first_row[place.y]; r < tables.first_row[place.y + 1]; ++r) {
    const ConvRow &row = tables.row[r];
    for (const ConvRun *run = tables.run + tables.first_run[place.x]; run < run_end; ++run) {
      const float *p = plane + (int64_t(row.target) + place.target + run->target);
      const float *w[EVENTS];
      LIF_UNROLL for (int e = 0; e < EVENTS; ++e) w[e] =
          weights + ((channel[e] + row.tap) * run->stride + run->weights);
      int32_t i = 0;
      for (; i + SUMS <= run->floats; i += SUMS)
        LIF_UNROLL for (int j = 0; j < WIDE; ++j) {
          const F at = Vec::load(p + i + j * L);
          LIF_UNROLL for (int e = 0; e < EVENTS; ++e) sum[e][j] =
              Vec::add(sum[e][j], Vec::mul(at, Vec::load(w[e] + i + j * L)));
        }
      if (i < run->floats)
        LIF_UNROLL for (int j = 0; j < WIDE; ++j) {
          const F at = load_columns(p + i, run->floats - i, j);
          LIF_UNROLL for (int e = 0; e < EVENTS; ++e) sum[e][j] =
              Vec::add(sum[e][j], Vec::mul(at, load_columns(w[e] + i, run->floats - i, j)));
        }
    }
  }
  float lane[EVENTS][SUMS];
  LIF_UNROLL for (int e = 0; e < EVENTS; ++e) LIF_UNROLL for (int j = 0; j < WIDE; ++j)
      Vec::store(lane[e] + j * L, sum[e][j]);
  LIF_UNROLL for (int e = 0; e < EVENTS; ++e) out[e] = sum_lanes(lane[e]);
}

inline bool same_place(const ConvSite &a, const ConvSite &b) {
  return a.x == b.x && a.y == b.y && a.target == b.target;
}

void conv_gather(const ConvTables &tables, const int32_t *events, int64_t count,
                 const float *weights, const float *plane, float *out) {
  constexpr int MOST = 8 / WIDE; // as many sums as hide the time of an addition
  for (int64_t k = 0; k < count;) {
    int64_t together = 1;
    while (together < MOST && k + together < count &&
           same_place(tables.site[events[k]], tables.site[events[k + together]]))
      ++together;
    if (together == MOST) {
      gather_place<MOST>(tables, events + k, weights, plane, out + k);
    } else if (together >= MOST / 2) {
      together = MOST / 2;
      gather_place<MOST / 2>(tables, events + k, weights, plane, out + k);
    } else {
      together = 1;
      gather_place<1>(tables, events + k, weights, plane, out + k);
    }
    k += together;
  }
}

inline int32_t *list_lanes(unsigned bits, int64_t first, int32_t *to) {
  for (; bits; bits &= bits - 1)
    *to++ = static_cast<int32_t>(first + __builtin_ctz(bits));
  return to;
}

void conv_fire(ConvFire &a) {
  const F threshold = Vec::all(a.threshold), second = Vec::all(a.second_threshold),
          decay = Vec::all(a.decay);
  int32_t *spikes = a.spikes, *others = a.others;
  for (int64_t i = 0; i < a.floats; i += L) {
    F u = Vec::load(a.u + i);
    unsigned above = Vec::bits(Vec::greater(u, threshold));
    if (a.gated) {
      unsigned rest = Vec::bits(Vec::greater(u, second)) & ~above;
      if (rest)
        others = list_lanes(rest, i, others);
    }
    F v = u;
    if (above) {
      spikes = list_lanes(above, i, spikes);
      if (a.reset == LIF_RESET_ZERO)
        v = Vec::zero_where(Vec::mask(above), u);
      else if (a.reset == LIF_RESET_SUBTRACT)
        v = Vec::sub(u, Vec::zero_where(Vec::mask(~above & ((1u << L) - 1)), threshold));
    }
    F next = Vec::mul(decay, v);
    if (a.bias)
      next = Vec::add(next, Vec::load(a.bias + i));
    Vec::store(a.next + i, next);
  }
  // Lanes behind the last neuron are unused.
  while (spikes > a.spikes && spikes[-1] >= a.neurons)
    --spikes;
  while (others > a.others && others[-1] >= a.neurons)
    --others;
  a.spike_count = static_cast<int32_t>(spikes - a.spikes);
  a.other_count = static_cast<int32_t>(others - a.others);
}

void conv_adjoint(const ConvAdjoint &a) {
  const bool term = a.reset_gradient == LIF_RESET_GRADIENT_TERM,
             whole = a.reset_gradient == LIF_RESET_GRADIENT_NONE;
  const bool zeroed = a.reset == LIF_RESET_ZERO && !term; // who spiked forgets the membrane
  for (int64_t i = 0; i < a.floats; i += CONV_BLOCK) {
    float x[CONV_BLOCK], phi[CONV_BLOCK], e[CONV_BLOCK], kappa[CONV_BLOCK];
    const float *u = a.u + i;
    float *lambda = a.lambda + i;
    for (int n = 0; n < CONV_BLOCK; ++n) {
      x[n] = u[n] - a.threshold;
      kappa[n] = a.decay * lambda[n];
      e[n] = a.e[i + n];
    }
    if (whole && a.reset == LIF_RESET_ZERO)
      for (int n = 0; n < CONV_BLOCK; ++n)
        e[n] -= u[n] * kappa[n];
    else if (whole && a.reset == LIF_RESET_SUBTRACT)
      for (int n = 0; n < CONV_BLOCK; ++n)
        e[n] -= a.threshold * kappa[n];
    if (zeroed)
      for (int n = 0; n < CONV_BLOCK; ++n)
        kappa[n] = u[n] > a.threshold ? 0.0f : kappa[n];
    surrogate_of<CONV_BLOCK>(*a.surrogate, x, phi);
    for (int n = 0; n < CONV_BLOCK; ++n)
      lambda[n] = phi[n] * e[n] + kappa[n];
  }
}

void conv_decay(float *plane, int64_t floats, float factor) {
  const F all = Vec::all(factor);
  for (int64_t i = 0; i < floats; i += L)
    Vec::store(plane + i, Vec::mul(all, Vec::load(plane + i)));
}

constexpr ConvKernel conv_kernel() {
  return {conv_scatter, conv_collect, conv_gather, conv_gather_places, conv_fire,
          conv_adjoint, conv_decay,   add_floats,  conv_collect_row};
}

} // namespace

#endif
