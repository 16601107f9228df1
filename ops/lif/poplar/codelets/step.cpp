// The time loop's counter, and what is taken from and put into arrays [time, ...] by it.
#include <poplar/Vertex.hpp>

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
template <typename T> class TakeSpikes : public Vertex {
public:
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids;
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;
  Input<unsigned> step;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> takenIds;
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> takenCounts; // spikes, filled slots
  const unsigned steps, offset, width, countWidth;

  bool compute() {
    const unsigned row = *step + offset;
    takenCounts[0] = takenCounts[1] = 0;
    if (row >= steps)
      return true;
    takenCounts[0] = static_cast<unsigned>(counts[row * countWidth]);
    takenCounts[1] = static_cast<unsigned>(counts[row * countWidth + countWidth - 1]);
    const T *from = &ids[row * width];
    const unsigned filled = takenCounts[1];
    for (unsigned k = 0; k < filled; ++k)
      takenIds[k] = static_cast<unsigned short>(static_cast<int>(from[k]));
    return true;
  }
};
template class TakeSpikes<float>;
template class TakeSpikes<int>;

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
