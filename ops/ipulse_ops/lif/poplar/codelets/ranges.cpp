// Slots of a layer that is split over IPUs: each IPU joins its chunks' lists, and fills the slots
// from its own list and the ids of the other IPUs.
#include <poplar/Vertex.hpp>

#include "join.h"

using namespace poplar;

// The list that ListCandidates would make of all the IPU's neurons, [firstNeuron, firstNeuron +
// neurons): from the front the spikes, from the back the gradient-only ones.
class MergeCandidates : public MultiVertex {
public:
  MergeCandidates();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // [chunks, stride]
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 4>>> values;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // [chunks, 2]
  Input<unsigned> offset;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> mergedIds; // [slots]
  Vector<Output<Vector<float, VectorLayout::ONE_PTR, 4>>> mergedValues;
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> mergedCounts; // spiking, others listed
  const unsigned chunks, chunkNeurons, firstNeuron, neurons, listSlots, stride, slots;

  bool compute(unsigned worker) {
    // A worker's share, in pairs of 16-bit ids, which are a word.
    const unsigned all = slots, most = listSlots;
    const unsigned first = (all + 1) / 2 * worker / numWorkers() * 2;
    unsigned last = (all + 1) / 2 * (worker + 1) / numWorkers() * 2;
    last = last < all ? last : all;
    unsigned spiking = 0;
    for (unsigned c = 0; c < chunks; ++c)
      spiking += counts[2 * c];
    const unsigned front =
        list([&](unsigned c) { return counts[2 * c] < most ? counts[2 * c] : most; },
             [&](unsigned c) { return c * stride; }, 1, all, 0, first, last);
    const unsigned back = list([&](unsigned c) { return counts[2 * c + 1]; },
                               [&](unsigned c) { return c * stride + most - 1; }, -1, all - front,
                               all - 1, all - last, all - first);
    if (worker == 0) {
      mergedCounts[0] = spiking;
      mergedCounts[1] = back;
    }
    return true;
  }

private:
  /// Writes the first `room` candidates to `to`, with stride `step`; this worker writes [first,
  /// last) of them. Chunk c has listed(c) candidates from place(c) on. Returns the number that fit.
  template <typename Listed, typename Place>
  unsigned list(const Listed &listed, const Place &place, int step, unsigned room, unsigned to,
                unsigned first, unsigned last) {
    unsigned used = 0;
    const auto put = [&](unsigned c, unsigned from, unsigned end) {
      const unsigned count = end - from < room - used ? end - from : room - used;
      const unsigned begin = used > first ? used : first;
      const unsigned stop = used + count < last ? used + count : last;
      unsigned source = place(c) + static_cast<int>(from + begin - used) * step;
      unsigned target = to + static_cast<int>(begin) * step;
      used += count;
      for (unsigned n = begin; n < stop; ++n) {
        mergedIds[target] = ids[source];
        for (unsigned i = 0; i < values.size(); ++i)
          mergedValues[i][target] = values[i][source];
        source += static_cast<unsigned>(step);
        target += static_cast<unsigned>(step);
      }
    };
    unsigned home = chunks, below = 0; // the chunk with the offset; its first that is below it
    const unsigned start = *offset - firstNeuron;
    if (start != 0 && start < neurons) {
      home = 0;
      for (unsigned end = firstNeuron + chunkNeurons; *offset >= end; end += chunkNeurons)
        ++home;
      while (below < listed(home) && ids[place(home) + static_cast<int>(below) * step] >= *offset)
        ++below;
      put(home, 0, below);
      for (unsigned c = home + 1; c < chunks; ++c)
        put(c, 0, listed(c));
    }
    for (unsigned c = 0; c < home; ++c)
      put(c, 0, listed(c));
    if (home < chunks)
      put(home, below, listed(home));
    return used;
  }
};

// As JoinCandidates, of the ranges' lists. Values are there of the own neurons alone; in the slots
// of others they are 0.
class JoinRanges : public MultiVertex {
public:
  JoinRanges();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;   // [ranges, stride]
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 4>>> values; // [stride]
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;      // [ranges, 2]
  Input<unsigned> offset;
  Input<unsigned> step;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> slotIds; // of this step
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> slotCounts;    // spikes, filled slots
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> idHistory;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 4>>> valueHistories;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> countHistory; // [time, 2]
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> droppedHistory;
  // chunks are ranges; own: where the own list begins among all of them.
  const unsigned chunks, chunkNeurons, own, listSlots, stride, slots;
  const bool recordsIds; // one IPU does

  float value(unsigned i, unsigned from) const {
    return from - own < stride ? values[i][from - own] : 0.0f;
  }
  bool keepsIds() const { return recordsIds; }
  bool compute(unsigned worker) {
    joinByOffset(*this, worker, numWorkers());
    return true;
  }
};
