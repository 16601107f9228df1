// What listing and joining candidates for slots have in common (select.cpp, select_top.cpp).
#ifndef IPULSE_LIF_POPLAR_CANDIDATES_H
#define IPULSE_LIF_POPLAR_CANDIDATES_H

#include "surrogate.h"

/// Gives sample b's list its values: from the front `spikes`, from the back `others`, which are
/// neurons of the chunk; they become neurons of the layer.
template <typename V>
inline void describe(const V &v, unsigned b, unsigned spikes, unsigned others) {
  const float *row = &v.u[b * v.neurons], *threshold = &v.threshold[0], *table = v.table.begin();
  unsigned short *list = &v.ids[b * v.stride];
  float *phi = &v.values[0][b * v.stride];
  float *membrane = v.values.size() > 1 ? &v.values[1][b * v.stride] : nullptr;
  const unsigned kind = v.kind, size = v.table.size(), firstNeuron = v.firstNeuron;
  const float parameter = v.parameter;
  const auto one = [&](unsigned k) {
    const unsigned i = list[k];
    phi[k] = surrogate(kind, parameter, table, size, row[i] - threshold[i]);
    if (membrane)
      membrane[k] = row[i];
    list[k] = static_cast<unsigned short>(firstNeuron + i);
  };
  for (unsigned k = 0; k < spikes; ++k)
    one(k);
  for (unsigned k = v.slots - others; k < v.slots; ++k)
    one(k);
}

/// A worker's share [first, last) of a sample's slots, in pairs of them: ids are 16 bits, and a
/// tile writes whole words. Chunks' candidates come run by run, ascending.
template <typename V> class SlotShare {
public:
  SlotShare(const V &v, unsigned worker, unsigned workers)
      : v(v), row(*v.step * v.slots), recorded(v.valueHistories.size()), ids(&v.ids[0]),
        slotIds(&v.slotIds[0]), history(&v.idHistory[row]),
        first((v.slots + 1) / 2 * worker / workers * 2),
        last((v.slots + 1) / 2 * (worker + 1) / workers * 2) {
    last = last < v.slots ? last : v.slots;
  }
  /// `count` candidates, the first at `place` of the lists, each the next one by `step`.
  void put(unsigned place, int step, unsigned count) {
    const unsigned begin = used > first ? used : first;
    const unsigned end = used + count < last ? used + count : last;
    unsigned from = place + static_cast<int>(begin - used) * step;
    used += count;
    for (unsigned slot = begin; slot < end; ++slot, from += static_cast<unsigned>(step)) {
      const unsigned short id = ids[from];
      slotIds[slot] = id;
      history[slot] = static_cast<float>(static_cast<int>(id));
      for (unsigned i = 0; i < recorded; ++i)
        v.valueHistories[i][row + slot] = v.values[i][from];
    }
  }
  /// Zeros behind the filled slots. spikes: of the slots; spiking: neurons that would have one.
  void finish(unsigned worker, unsigned spikes, unsigned spiking) {
    for (unsigned slot = used > first ? used : first; slot < last; ++slot) {
      history[slot] = 0.0f;
      for (unsigned i = 0; i < recorded; ++i)
        v.valueHistories[i][row + slot] = 0.0f;
    }
    if (worker != 0)
      return;
    v.slotCounts[0] = spikes;
    v.slotCounts[1] = used;
    v.countHistory[2 * *v.step] = static_cast<float>(static_cast<int>(spikes));
    v.countHistory[2 * *v.step + 1] = static_cast<float>(static_cast<int>(used));
    v.droppedHistory[*v.step] = static_cast<float>(static_cast<int>(spiking - spikes));
  }
  unsigned filled() const { return used; }

private:
  const V &v;
  const unsigned row, recorded;
  const unsigned short *const ids;
  unsigned short *const slotIds;
  float *const history; // of this step
  const unsigned first;
  unsigned last, used = 0;
};

/// Fills a sample's slots: choose(listed, place, step, room, share) puts at most `room` of the
/// candidates that the chunks list, `listed(c)` of chunk c from `place(c)` on by `step`.
template <typename V, typename Choose>
inline void join(const V &v, unsigned worker, unsigned workers, const Choose &choose) {
  SlotShare<V> share(v, worker, workers);
  unsigned spiking = 0;
  for (unsigned c = 0; c < v.chunks; ++c)
    spiking += v.counts[2 * c];
  choose([&](unsigned c) { return v.counts[2 * c] < v.listSlots ? v.counts[2 * c] : v.listSlots; },
         [&](unsigned c) { return c * v.stride; }, 1, v.slots, share);
  const unsigned spikes = share.filled();
  choose([&](unsigned c) { return v.counts[2 * c + 1]; },
         [&](unsigned c) { return c * v.stride + v.listSlots - 1; }, -1, v.slots - spikes, share);
  share.finish(worker, spikes, spiking);
}

#endif
