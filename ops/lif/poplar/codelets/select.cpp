// Who gets the slots of a sample and step (ops/select_spikes.py, policy "index"): chunks of neurons
// list their candidates, and every sample joins its chunks' lists.
#include <poplar/Vertex.hpp>

#include "surrogate.h"

using namespace poplar;

// The candidates among neurons [firstNeuron, firstNeuron + neurons) of some samples: from the front
// the spikes, from the back the gradient-only ones, each ascending, and all with their surrogate.
// A list has as many slots as may be of use: what finds none has a greater id than who did.
class ListCandidates : public MultiVertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> u; // [samples, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> secondThreshold;
  Input<Vector<float, VectorLayout::SPAN, 4>> table;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;   // [samples, stride]
  Vector<Output<Vector<float, VectorLayout::ONE_PTR, 4>>> values; // phi, and u if asked for
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // [samples, 2]: spiking, others listed
  const unsigned samples, neurons, firstNeuron, slots, stride;
  const unsigned kind;
  const float parameter;

  bool compute(unsigned worker) {
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const float *row = &u[b * neurons];
      unsigned short *list = &ids[b * stride];
      unsigned spiking = 0, front = 0, back = slots;
      for (unsigned i = 0; i < neurons; ++i) {
        if (row[i] > threshold[i]) {
          ++spiking;
          if (front < slots) {
            back = front < back ? back : back + 1; // the last gradient-only one gives way
            list[front++] = static_cast<unsigned short>(i);
          }
        } else if (row[i] > secondThreshold[i] && front < back) {
          list[--back] = static_cast<unsigned short>(i);
        }
      }
      counts[2 * b] = spiking;
      counts[2 * b + 1] = slots - back;
      for (unsigned k = 0; k < slots; ++k) {
        if (k >= front && k < back)
          continue;
        const unsigned i = list[k];
        const float x = row[i] - threshold[i];
        values[0][b * stride + k] = surrogate(kind, parameter, table.begin(), table.size(), x);
        if (values.size() > 1)
          values[1][b * stride + k] = row[i];
        list[k] = static_cast<unsigned short>(firstNeuron + i);
      }
    }
    return true;
  }
};

// A sample's slots: as many spikes as there is room for, then gradient-only neurons. What comes
// after the filled slots is 0 in the histories [time, slots].
class JoinCandidates : public Vertex {
public:
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // [chunks, stride]
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 4>>> values;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // [chunks, 2]
  Input<unsigned> step;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> slotIds; // of this step
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> slotCounts;    // spikes, filled slots
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> idHistory;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 4>>> valueHistories;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> countHistory; // [time, 2]
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> droppedHistory;
  const unsigned chunks, listSlots, stride, slots;

  bool compute() {
    const unsigned row = *step * slots;
    unsigned used = 0, spiking = 0;
    for (unsigned c = 0; c < chunks; ++c) {
      spiking += counts[2 * c];
      const unsigned listed = counts[2 * c] < listSlots ? counts[2 * c] : listSlots;
      for (unsigned k = 0; k < listed && used < slots; ++k)
        put(row, used++, c * stride + k);
    }
    const unsigned spikes = used;
    for (unsigned c = 0; c < chunks; ++c)
      for (unsigned k = 0; k < counts[2 * c + 1] && used < slots; ++k)
        put(row, used++, c * stride + listSlots - 1 - k);
    slotCounts[0] = spikes;
    slotCounts[1] = used;
    countHistory[2 * *step] = static_cast<float>(static_cast<int>(spikes));
    countHistory[2 * *step + 1] = static_cast<float>(static_cast<int>(used));
    droppedHistory[*step] = static_cast<float>(static_cast<int>(spiking - spikes));
    for (unsigned k = used; k < slots; ++k) {
      idHistory[row + k] = 0.0f;
      for (unsigned v = 0; v < values.size(); ++v)
        valueHistories[v][row + k] = 0.0f;
    }
    return true;
  }

private:
  void put(unsigned row, unsigned slot, unsigned from) {
    slotIds[slot] = ids[from];
    idHistory[row + slot] = static_cast<float>(static_cast<int>(ids[from]));
    for (unsigned v = 0; v < values.size(); ++v)
      valueHistories[v][row + slot] = values[v][from];
  }
};
