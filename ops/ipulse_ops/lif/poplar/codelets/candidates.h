// A list of candidates for slots (select.cpp, select_top.cpp).
#ifndef IPULSE_LIF_POPLAR_CANDIDATES_H
#define IPULSE_LIF_POPLAR_CANDIDATES_H

#include "surrogate.h"

/// Gives sample b's list its values: from the front `spikes`, from the back `others`, which are
/// neurons of the chunk; they become neurons of the layer.
template <typename V> inline void describe(V &v, unsigned b, unsigned spikes, unsigned others) {
  const auto *row = &v.u[b * v.neurons];
  const float *threshold = &v.threshold[0], *table = v.table.begin();
  unsigned short *list = &v.ids[b * v.stride];
  float *phi = &v.values[0][b * v.stride];
  float *membrane = v.values.size() > 1 ? &v.values[1][b * v.stride] : nullptr;
  const unsigned kind = v.kind, size = v.table.size(), firstNeuron = v.firstNeuron;
  const float parameter = v.parameter;
  const auto one = [&](unsigned k) {
    const unsigned i = list[k];
    phi[k] = surrogate(kind, parameter, table, size, static_cast<float>(row[i]) - threshold[i]);
    if (membrane)
      membrane[k] = static_cast<float>(row[i]);
    list[k] = static_cast<unsigned short>(firstNeuron + i);
  };
  for (unsigned k = 0; k < spikes; ++k)
    one(k);
  for (unsigned k = v.slots - others; k < v.slots; ++k)
    one(k);
}

#endif
