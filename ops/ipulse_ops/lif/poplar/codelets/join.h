// How a sample's slots are filled from lists of candidates (select.cpp, select_top.cpp,
// ranges.cpp).
#ifndef IPULSE_LIF_POPLAR_JOIN_H
#define IPULSE_LIF_POPLAR_JOIN_H

/// A worker's share [first, last) of a sample's slots, in pairs of them: ids are 16 bits, and a
/// tile writes whole words: that smaller stores race is documented, that the word has 4 bytes is
/// from memory. Chunks' candidates come run by run, ascending. `v.value(i, from)` is of
/// the candidate at `from` what history i takes; `v.keepsIds()` whether there is one of ids.
template <typename V> class SlotShare {
public:
  SlotShare(V &v, unsigned worker, unsigned workers)
      : v(v), row(*v.step * v.slots), recorded(v.valueHistories.size()), ids(&v.ids[0]),
        slotIds(&v.slotIds[0]), history(v.keepsIds() ? &v.idHistory[row] : nullptr),
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
      if (history)
        history[slot] = static_cast<float>(static_cast<int>(id));
      for (unsigned i = 0; i < recorded; ++i)
        v.valueHistories[i][row + slot] = v.value(i, from);
    }
  }
  /// Zeros behind the filled slots. spikes: of the slots; spiking: neurons that would have one.
  void finish(unsigned worker, unsigned spikes, unsigned spiking) {
    for (unsigned slot = used > first ? used : first; slot < last; ++slot) {
      if (history)
        history[slot] = 0.0f;
      for (unsigned i = 0; i < recorded; ++i)
        v.valueHistories[i][row + slot] = 0.0f;
    }
    if (worker != 0)
      return;
    v.slotCounts[0] = spikes;
    v.slotCounts[1] = used;
    if (!history)
      return;
    v.countHistory[2 * *v.step] = static_cast<float>(static_cast<int>(spikes));
    v.countHistory[2 * *v.step + 1] = static_cast<float>(static_cast<int>(used));
    v.droppedHistory[*v.step] = static_cast<float>(static_cast<int>(spiking - spikes));
  }
  unsigned filled() const { return used; }

private:
  V &v;
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
inline void join(V &v, unsigned worker, unsigned workers, const Choose &choose) {
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

/// The same by the policies "index" and "cyclic": by ascending id from *v.offset on, and then from
/// neuron 0 on.
template <typename V> inline void joinByOffset(V &v, unsigned worker, unsigned workers) {
  join(v, worker, workers,
       [&](const auto &listed, const auto &place, int by, unsigned room, auto &share) {
         const unsigned all = v.chunks;
         const auto put = [&](unsigned c, unsigned from, unsigned to) {
           const unsigned count = to - from < room ? to - from : room;
           if (count == 0)
             return;
           share.put(place(c) + static_cast<int>(from) * by, by, count);
           room -= count;
         };
         unsigned home = 0; // the chunk with the offset
         for (unsigned end = v.chunkNeurons; *v.offset >= end && home < all; ++home)
           end += v.chunkNeurons;
         if (*v.offset == 0 || home == all) {
           for (unsigned c = 0; c < all && room != 0; ++c)
             put(c, 0, listed(c));
           return;
         }
         // Those from the offset on come first, and in the slots after those below it.
         const unsigned ofHome = listed(home);
         unsigned below = 0; // of home's list, the first that is below the offset
         while (below < ofHome && v.ids[place(home) + static_cast<int>(below) * by] >= *v.offset)
           ++below;
         unsigned after = below;
         for (unsigned c = home + 1; c < all; ++c)
           after += listed(c);
         after = after < room ? after : room;
         room -= after;
         for (unsigned c = 0; c < home; ++c)
           put(c, 0, listed(c));
         put(home, below, ofHome);
         room = after;
         put(home, 0, below);
         for (unsigned c = home + 1; c < all; ++c)
           put(c, 0, listed(c));
       });
}

#endif
