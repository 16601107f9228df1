// Between slots and dense rows of neurons (ops/ipulse_ops/reference/spikes.py), for the rows
// of a tile. Ids that are no neuron's, and counts beyond the slots, come from outside: they are
// ignored.
#include <poplar/Vertex.hpp>

#include "slots.h"

using namespace poplar;

// How often each neuron is listed among the first counts[row * countWidth] slots.
template <typename T> class ScatterOnes : public MultiVertex {
public:
  ScatterOnes();

  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids; // [rows, slots]
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> dense; // [rows, neurons]
  const unsigned rows, slots, countWidth, neurons;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      float *to = &dense[r * neurons];
      for (unsigned i = 0; i < neurons; ++i)
        to[i] = 0.0f;
      const unsigned spikes = countOf(counts[r * countWidth]);
      for (unsigned k = 0; k < spikes && k < slots; ++k)
        if (isNeuron(ids[r * slots + k], neurons))
          to[static_cast<int>(ids[r * slots + k])] += 1.0f;
    }
    return true;
  }
};
template class ScatterOnes<float>;
template class ScatterOnes<int>;

// Gathers the values of the filled slots' neurons from a dense row; 0 in the other slots.
class GatherSlots : public MultiVertex {
public:
  GatherSlots();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> dense; // [rows, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids;   // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> counts;
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> values; // [rows, slots]
  const unsigned rows, slots, countWidth, neurons;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      const unsigned filled = countOf(counts[(r + 1) * countWidth - 1]);
      for (unsigned k = 0; k < slots; ++k) {
        const float id = ids[r * slots + k];
        const bool read = k < filled && isNeuron(id, neurons);
        values[r * slots + k] = read ? dense[r * neurons + static_cast<int>(id)] : 0.0f;
      }
    }
    return true;
  }
};

// The ids of the ones of a dense row, ascending, as far as there are slots.
class ListOnes : public MultiVertex {
public:
  ListOnes();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> dense;    // [rows, neurons]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> ids;     // [rows, slots], 0 behind the counts
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> counts;  // [rows]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> dropped; // [rows]: ones without a slot
  const unsigned rows, slots, neurons;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      const float *from = &dense[r * neurons];
      unsigned ones = 0;
      for (unsigned i = 0; i < neurons; ++i) {
        if (from[i] == 0.0f)
          continue;
        if (ones < slots)
          ids[r * slots + ones] = static_cast<float>(static_cast<int>(i));
        ++ones;
      }
      const unsigned listed = ones < slots ? ones : slots;
      for (unsigned k = listed; k < slots; ++k)
        ids[r * slots + k] = 0.0f;
      counts[r] = static_cast<float>(static_cast<int>(listed));
      dropped[r] = static_cast<float>(static_cast<int>(ones - listed));
    }
    return true;
  }
};

// The values of the filled slots, times factors, at their neurons; 0 everywhere else.
class ScatterSlots : public MultiVertex {
public:
  ScatterSlots();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> ids;     // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> counts;  // [rows, countWidth]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> values;  // [rows, slots]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> factors; // [rows, slots], if scaled
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> dense;  // [rows, neurons]
  const unsigned rows, slots, countWidth, neurons;
  const bool scaled;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      float *to = &dense[r * neurons];
      for (unsigned i = 0; i < neurons; ++i)
        to[i] = 0.0f;
      const unsigned filled = countOf(counts[(r + 1) * countWidth - 1]);
      for (unsigned k = 0; k < filled && k < slots; ++k) {
        const unsigned at = r * slots + k;
        if (isNeuron(ids[at], neurons))
          to[static_cast<int>(ids[at])] += scaled ? values[at] * factors[at] : values[at];
      }
    }
    return true;
  }
};
