// The time loop's counter, and what is taken from and put into arrays [time, ...] by it.
#include <poplar/Vertex.hpp>

#include "slots.h"

using namespace poplar;

// `next` is where the loop goes on, `now` where it is. Steps below 0 wrap around: a row is taken
// only if it is less than the number of steps.
class AdvanceStep : public Vertex {
public:
  InOut<unsigned> next;
  Output<unsigned> now;
  const int by;

  bool compute() {
    const unsigned step = *next;
    *now = step;
    *next = step + by;
    return true;
  }
};

// A sample's spikes at step + offset. ids [time, width], counts [time, countWidth].
template <typename T> class TakeSpikes : public MultiVertex {
public:
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
      // Two ids, which are a word, are one worker's.
      for (unsigned k = 2 * worker; k < filled; k += 2 * numWorkers()) {
        takenIds[k] = static_cast<unsigned short>(static_cast<int>(from[k]));
        if (k + 1 < filled)
          takenIds[k + 1] = static_cast<unsigned short>(static_cast<int>(from[k + 1]));
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

// The input's spikes of a sample, all steps, as ids of 16 bits. What is no input's id, and what a
// count has beyond the slots, is left out and counted: no codelet after this one looks.
template <typename T> class CheckInput : public MultiVertex {
public:
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids;                         // [time, slots]
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;                      // [time, countWidth]
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> checkedIds;    // [time, stride]
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> checkedCounts; // [time, 2]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> ignored;                // [time]
  const unsigned steps, slots, stride, countWidth, neurons;

  bool compute(unsigned worker) {
    for (unsigned t = worker; t < steps; t += numWorkers()) {
      const unsigned first = countOf(counts[t * countWidth]);
      const unsigned wanted = countOf(counts[t * countWidth + countWidth - 1]);
      const unsigned filled = wanted < slots ? wanted : slots;
      unsigned kept = 0, spikes = 0;
      for (unsigned k = 0; k < filled; ++k) {
        const T id = ids[t * slots + k];
        if (!isNeuron(id, neurons))
          continue;
        checkedIds[t * stride + kept++] = static_cast<unsigned short>(static_cast<int>(id));
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

// Puts the membranes [size] of a tile into their history [time, size].
class RecordMembrane : public Vertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> u;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> history;
  const unsigned size;

  bool compute() {
    float *to = &history[*step * size];
    for (unsigned i = 0; i < size; ++i)
      to[i] = u[i];
    return true;
  }
};

// Who is over its threshold, as whole numbers of 24 bits, which a float holds exactly:
// history [time, words, row], bit b of word w is sample 24 w + b.
class RecordResets : public MultiVertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> u;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<unsigned> step;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> history;
  const unsigned samples, row;

  bool compute(unsigned worker) {
    const unsigned words = (samples + 23) / 24;
    float *to = &history[*step * words * row];
    for (unsigned j = worker; j < row; j += numWorkers()) {
      for (unsigned w = 0, b = 0; w < words; ++w) {
        unsigned bits = 0;
        for (unsigned bit = 0; bit < 24 && b < samples; ++bit, ++b)
          bits |= (u[b * row + j] > threshold[j] ? 1u : 0u) << bit;
        to[w * row + j] = static_cast<float>(static_cast<int>(bits));
      }
    }
    return true;
  }
};
