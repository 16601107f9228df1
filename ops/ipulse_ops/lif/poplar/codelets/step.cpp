// The time loop's counter, and what is taken from and put into arrays [time, ...] by it.
#include <poplar/Vertex.hpp>

#include "pair.h"
#include "slots.h"

using namespace poplar;

// Advances the loop: `now` is the current step, `next` the following one. Steps below 0 wrap
// around; a row is used only if it is less than the number of steps.
class AdvanceStep : public MultiVertex {
public:
  AdvanceStep();

  InOut<unsigned> next;
  Output<unsigned> now;
  const int by;

  bool compute(unsigned worker) {
    if (worker != 0)
      return true;
    const unsigned step = *next;
    *now = step;
    *next = step + by;
    return true;
  }
};

// A sample's spikes at step + offset. ids [time, width], counts [time, countWidth].
template <typename T> class TakeSpikes : public MultiVertex {
public:
  TakeSpikes();

  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids;
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;
  Input<unsigned> step;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> takenIds;
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> takenCounts; // spikes, filled slots
  const unsigned steps, offset, width, countWidth;

  bool compute(unsigned worker) {
    const unsigned row = *step + offset;
    unsigned spikes = 0, filled = 0;
    if (row < steps) {
      spikes = static_cast<unsigned>(counts[row * countWidth]);
      filled = static_cast<unsigned>(counts[row * countWidth + countWidth - 1]);
      const T *from = &ids[row * width];
      unsigned short *to = &takenIds[0];
      // Two ids, which are a word, are one worker's.
      for (unsigned k = 2 * worker; k < filled; k += 2 * numWorkers()) {
        to[k] = static_cast<unsigned short>(static_cast<int>(from[k]));
        if (k + 1 < filled)
          to[k + 1] = static_cast<unsigned short>(static_cast<int>(from[k + 1]));
      }
    }
    if (worker == 0) {
      takenCounts[0] = spikes;
      takenCounts[1] = filled;
    }
    return true;
  }
};
template class TakeSpikes<float>;
template class TakeSpikes<unsigned short>;

// Where each worker's share of the senders begins among a sample's ascending spikes at step +
// offset: what every tile that they go to would have to look for.
template <typename T> class LocateSpikes : public MultiVertex {
public:
  LocateSpikes();

  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids;
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;
  Input<unsigned> step;
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> starts; // a slot by worker, and the last's end
  const unsigned steps, offset, width, countWidth, senders;

  bool compute(unsigned worker) {
    const unsigned row = *step + offset;
    const unsigned spikes = row < steps ? static_cast<unsigned>(counts[row * countWidth]) : 0;
    const auto first = static_cast<T>(static_cast<int>(senders * worker / numWorkers()));
    starts[worker] = spikes ? firstSlot(&ids[row * width], 0, spikes, first) : 0;
    if (worker == 0)
      starts[numWorkers()] = spikes;
    return true;
  }
};
template class LocateSpikes<float>;
template class LocateSpikes<unsigned short>;

// The input's spikes of a sample, all steps, as ids of 16 bits. What is no input's id, and what a
// count has beyond the slots, is left out and counted: no codelet after this one looks. Sorted, the
// spikes ascend, and so do the gradient-only slots.
template <typename T> class CheckInput : public MultiVertex {
public:
  CheckInput();

  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids;                         // [time, slots]
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;                      // [time, countWidth]
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> checkedIds;    // [time, stride]
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> checkedCounts; // [time, 2]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> ignored;                // [time]
  const unsigned steps, slots, stride, countWidth, neurons;
  const bool sorts;

  bool compute(unsigned worker) {
    // Copied, as in neurons/integrate.h.
    const unsigned most = slots, senders = neurons, width = countWidth;
    const bool sorted = sorts;
    for (unsigned t = worker; t < steps; t += numWorkers()) {
      const unsigned first = countOf(counts[t * width]);
      const unsigned wanted = countOf(counts[t * width + width - 1]);
      const unsigned filled = wanted < most ? wanted : most;
      const T *given = &ids[t * most];
      unsigned short *list = &checkedIds[t * stride];
      unsigned kept = 0, spikes = 0, before = 0; // of the last one's kind
      for (unsigned k = 0; k < filled; ++k) {
        if (k == first)
          before = 0;
        if (!isNeuron(given[k], senders))
          continue;
        const auto id = static_cast<unsigned>(static_cast<int>(given[k]));
        unsigned at = kept++;
        if (sorted && id < before)
          for (const unsigned from = k < first ? 0 : spikes; at > from && list[at - 1] > id; --at)
            list[at] = list[at - 1];
        else
          before = id;
        list[at] = static_cast<unsigned short>(id);
        spikes += k < first;
      }
      checkedCounts[2 * t] = static_cast<unsigned short>(spikes);
      checkedCounts[2 * t + 1] = static_cast<unsigned short>(kept);
      ignored[t] = static_cast<float>(static_cast<int>(wanted - kept));
    }
    return true;
  }
};
template class CheckInput<float>;
template class CheckInput<int>;

// Puts the membranes of a tile, so many pairs, into their history [time, pairs].
template <typename S> class RecordMembrane : public MultiVertex {
public:
  RecordMembrane();

  Input<Vector<S, VectorLayout::ONE_PTR, 8>> u;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> history;
  const unsigned pairCount;

  bool compute(unsigned worker) {
    const unsigned size = pairCount;
    const S *from = &u[0];
    float2 *to = pairs(&history[0]) + *step * size;
    for (unsigned p = worker; p < size; p += numWorkers())
      to[p] = pairOf(from, p);
    return true;
  }
};
template class RecordMembrane<float>;
template class RecordMembrane<half>;

// Records the neurons above their thresholds as integers of 24 bits, which a float represents:
// history [time, words, row], bit b of word w is sample 24 w + b.
template <typename S> class RecordResets : public MultiVertex {
public:
  RecordResets();

  Input<Vector<S, VectorLayout::ONE_PTR, 8>> u;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> history;
  const unsigned samples, row;

  bool compute(unsigned worker) {
    const unsigned all = samples, width = row, words = (all + 23) / 24;
    float *to = &history[*step * words * width];
    // A word of a neuron is one worker's.
    for (unsigned one = worker; one < words * width; one += numWorkers()) {
      unsigned first = 0, j = one;
      for (; j >= width; j -= width)
        first += 24;
      const S *membrane = &u[first * width + j];
      const float limit = threshold[j];
      const unsigned size = all - first < 24 ? all - first : 24;
      unsigned bits = 0;
      for (unsigned bit = 0; bit < size; ++bit, membrane += width)
        bits |= (static_cast<float>(*membrane) > limit ? 1u : 0u) << bit;
      to[one] = static_cast<float>(static_cast<int>(bits));
    }
    return true;
  }
};
template class RecordResets<float>;
template class RecordResets<half>;
