// The slots of a sample: ids ascending among the spikes, and again among the gradient-only ones.
#ifndef IPULSE_LIF_POPLAR_SLOTS_H
#define IPULSE_LIF_POPLAR_SLOTS_H

/// Returns true if `id` is the id of one of `neurons` neurons.
inline bool isNeuron(int id, unsigned neurons) { return static_cast<unsigned>(id) < neurons; }
inline bool isNeuron(float id, unsigned neurons) {
  return id >= 0.0f && id < static_cast<float>(static_cast<int>(neurons));
}

/// A count that came from outside: nothing below 0, and nothing that a float cannot hold exactly.
template <typename T> inline unsigned countOf(T given) {
  const int most = 1 << 24;
  if (!(given > static_cast<T>(0)))
    return 0;
  return static_cast<unsigned>(given < static_cast<T>(most) ? static_cast<int>(given) : most);
}

/// Returns the first slot of [from, to) with an id of at least `id`, by bisection.
template <typename Ids, typename Id>
inline unsigned firstSlot(const Ids *ids, unsigned from, unsigned to, Id id) {
  while (from < to) {
    const unsigned middle = (from + to) >> 1;
    if (ids[middle] < id)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/// Calls visit(slot, neuron - begin) for the ascending slots [from, to) with begin <= id < end.
template <typename Ids, typename Visit>
inline void forNeurons(const Ids *ids, unsigned from, unsigned to, unsigned begin, unsigned end,
                       const Visit &visit) {
  for (unsigned k = firstSlot(ids, from, to, begin); k < to && ids[k] < end; ++k)
    visit(k, ids[k] - begin);
}

#endif
