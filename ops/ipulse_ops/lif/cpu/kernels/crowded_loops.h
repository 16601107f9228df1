// Loops for many spikes: sums stay in registers while several events add to the same floats, in the
// order of the events.
#ifndef IPULSE_OPS_LIF_CPU_CONV_CROWDED_LOOPS_H
#define IPULSE_OPS_LIF_CPU_CONV_CROWDED_LOOPS_H

#include <algorithm>

#include "kernels/arguments/conv.h"
#include "vectors.h"

namespace {

constexpr int MOST_SUMS = 12; // vectors that fit into the registers with those that are added

// Adds `count` rows of floats to `columns` floats, at most V vectors. row(k): the k-th row, of
// which whole vectors can be read.
template <int V, class Row> inline void add_rows(float *to, int columns, int64_t count, Row row) {
  F sum[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] = load_columns(to, columns, j);
  for (int64_t k = 0; k < count; ++k) {
    const float *from = row(k);
    LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] = Vec::add(sum[j], Vec::load(from + j * L));
  }
  LIF_UNROLL for (int j = 0; j < V; ++j) store_columns(to, columns, j, sum[j]);
}

// The same for any number of floats.
template <class Row> inline void add_all_rows(float *to, int64_t floats, int64_t count, Row row) {
  for (int64_t i = 0; i < floats; i += MOST_SUMS * L) {
    const int columns = static_cast<int>(std::min<int64_t>(floats - i, MOST_SUMS * L));
    auto from = [&](int64_t k) { return row(k) + i; };
    switch ((columns + L - 1) / L) {
#define ADD(V)                                                                                     \
  case V:                                                                                          \
    add_rows<V>(to + i, columns, count, from);                                                     \
    break;
      ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7) ADD(8) ADD(9) ADD(10) ADD(11) ADD(12)
#undef ADD
    }
  }
}

// Neighbouring events of a list that are in one row of the input.
struct CrowdedRow {
  static constexpr int MOST = 512;

  int events, places;
  int32_t channel[MOST]; // of each event: its rows of the packed weights
  int first[MOST + 1];   // of each place, and behind the last

  // Takes events from the beginning of a list.
  CrowdedRow(const ConvTables &tables, const int32_t *list, int64_t count) : events(0), places(0) {
    const ConvSite &row = tables.site[list[0]];
    int x = -1;
    for (; events < std::min<int64_t>(count, MOST); ++events) {
      const ConvSite &site = tables.site[list[events]];
      if (site.y != row.y || site.target != row.target)
        break;
      channel[events] = site.row;
      if (site.x != x)
        first[places++] = events;
      x = site.x;
    }
    first[places] = events;
  }
};

// Adds the weights of the events of a row to a plane. The weights of one tap stay in the cache.
inline void scatter_row(const ConvTables &tables, const int32_t *list, const CrowdedRow &crowd,
                        const float *weights, float *plane) {
  const ConvSite &site = tables.site[list[0]];
  for (int32_t r = tables.first_row[site.y]; r < tables.first_row[site.y + 1]; ++r) {
    const ConvRow &row = tables.row[r];
    for (int place = 0; place < crowd.places; ++place) {
      const int first = crowd.first[place], events = crowd.first[place + 1] - first;
      const int32_t *channel = crowd.channel + first;
      const int32_t x = tables.site[list[first]].x;
      for (int32_t k = tables.first_run[x]; k < tables.first_run[x + 1]; ++k) {
        const ConvRun &run = tables.run[k];
        const int64_t stride = run.stride;
        const float *taps = weights + row.tap * stride + run.weights;
        add_all_rows(plane + (int64_t(row.target) + site.target + run.target), run.floats, events,
                     [&](int64_t event) { return taps + channel[event] * stride; });
      }
    }
  }
}

// Adds the floats of a plane at each target to a row of weights.
void conv_collect_row(const float *plane, const int32_t *targets, int64_t count, float *weights,
                      int64_t floats) {
  add_all_rows(weights, floats, count, [&](int64_t k) { return plane + targets[k]; });
}

} // namespace

#endif
